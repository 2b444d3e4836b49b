import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ClientCapabilities, StreamableHTTPClientTransportOptions } from '@modelcontextprotocol/client';
import type { ClientHandlers, SeenNotification } from './question-handlers.js';

export interface ModernClientOptions extends ClientHandlers {
  readonly name?: string;
  /** `pin`, the default, speaks 2026-07-28 or fails; `auto` probes and falls back to `initialize`. */
  readonly mode?: 'pin' | 'auto';
  /** Declared on every request; derived from the handlers given when absent. */
  readonly capabilities?: ClientCapabilities;
  readonly headers?: Record<string, string>;
  readonly transport?: StreamableHTTPClientTransportOptions;
  /** `false` hands `input_required` results to calls that pass `allowInputRequired` instead of answering them. */
  readonly autoFulfill?: boolean;
}

export interface ModernClient {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  /** Log messages and changes, in order of arrival; progress goes to `onprogress`. */
  readonly notifications: SeenNotification[];
  close(): Promise<void>;
}

const COLLECTED = [
  'notifications/message',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
] as const;

/** Connects an SDK v2 client: `server/discover`, then stateless requests. */
export async function connectModernClient(
  url: string,
  options: ModernClientOptions = {},
): Promise<ModernClient> {
  const capabilities = options.capabilities ?? {
    ...(options.onElicit && { elicitation: { form: { applyDefaults: true }, url: {} } }),
    ...(options.onSample && { sampling: {} }),
    ...(options.onRoots && { roots: {} }),
  };
  const client = new Client(
    { name: options.name ?? 'modern-client', version: '1.0.0' },
    {
      capabilities,
      versionNegotiation: { mode: options.mode === 'auto' ? 'auto' : { pin: '2026-07-28' } },
      inputRequired: { autoFulfill: options.autoFulfill ?? true },
    },
  );
  const { onElicit, onSample, onRoots } = options;
  if (onElicit)
    client.setRequestHandler('elicitation/create', async ({ params }) => (await onElicit(params)) as any);
  if (onSample) {
    client.setRequestHandler('sampling/createMessage', async ({ params }) => (await onSample(params)) as any);
  }
  if (onRoots) client.setRequestHandler('roots/list', async () => (await onRoots()) as any);
  const notifications: SeenNotification[] = [];
  for (const method of COLLECTED) {
    client.setNotificationHandler(method, (notification: any) => {
      const seen = { method: notification.method, params: notification.params };
      notifications.push(seen);
      options.onNotification?.(seen);
    });
  }
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    ...options.transport,
    ...(options.headers && { requestInit: { headers: options.headers } }),
  });
  await client.connect(transport);
  return { client, transport, notifications, close: () => client.close() };
}
