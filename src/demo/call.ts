import { valueText } from '../jsonrpc/json-scan.js';
import type { Message } from '../jsonrpc/message.js';
import { printNotification } from '../jsonrpc/print.js';
import { type LogLevel, atLeast } from '../translation/log-level.js';
import { requestedProgressToken } from '../translation/progress.js';
import type { DemoReply } from './http.js';
import type { DemoCall } from './tool.js';

/** The call a request makes: its notifications go out on the reply, as both eras do it. */
export function demoCall(
  message: Message,
  reply: DemoReply,
  who: Pick<DemoCall, 'era' | 'revision' | 'client' | 'signal'> & {
    /** Least severe log messages wanted; absent: none. */
    readonly logLevel?: LogLevel;
  },
): DemoCall {
  const token = requestedProgressToken(message);
  const { logLevel, ...identity } = who;
  return {
    ...identity,
    progress: (done, total, text) => {
      if (token === undefined) return;
      // The token keeps its own text: 1, "1" and 1.0 are different tokens.
      const params = `{"progressToken":${token},"progress":${done},"total":${total},"message":${JSON.stringify(text)}}`;
      reply.event(printNotification('notifications/progress', params));
    },
    log: (level, text) => {
      if (logLevel === undefined || !atLeast(level, logLevel)) return;
      const params = JSON.stringify({ level, logger: 'demo', data: text });
      reply.event(printNotification('notifications/message', params));
    },
  };
}

/** The params of a message as a tree: a demo has no reason to keep them byte for byte. */
export function demoParams({ params, text }: Message): Record<string, unknown> {
  return params === undefined ? {} : (JSON.parse(valueText(text, params)) as Record<string, unknown>);
}

/** How a client that introduced itself is called. */
export function clientName(clientInfo: unknown): string {
  const { name, version } = (clientInfo ?? {}) as { name?: unknown; version?: unknown };
  return [name, version].filter((part) => typeof part === 'string').join(' ') || 'a client without a name';
}
