import { expect } from 'vitest';
import { closing } from './closing.js';
import type { SeenRequest } from './peer-log.js';
import type { RawResponse } from './raw-client.js';
import {
  type Script,
  type ScriptedStream,
  legacyScript,
  modernScript,
  openStream,
  progressFor,
  resultText,
  startScriptedServer,
} from './scripted-server.js';
import { type Era, WireSession } from './wire-client.js';

/** An upstream whose calls are driven from the test. */
export async function startUpstream(era: Era) {
  const calls = new Map<string, { request: SeenRequest; stream: ScriptedStream }>();
  const script: Script = (request, res) => {
    calls.set(request.message.params.arguments.label, { request, stream: openStream(res) });
  };
  const server = closing(
    await startScriptedServer(era === 'modern' ? modernScript(script, { tools: [] }) : legacyScript(script)),
  );
  const call = (label: string) => {
    const running = calls.get(label);
    if (running === undefined) throw new Error(`the upstream never saw ${label}`);
    return running;
  };
  return {
    server,
    seen: (label: string) => expect.poll(() => calls.has(label)).toBe(true),
    progress: (label: string, value: number) =>
      call(label).stream.send(progressFor(call(label).request, value)),
    finish: (label: string) => {
      const content = [{ type: 'text', text: label }];
      call(label).stream.send(resultText(call(label).request, { resultType: 'complete', content }));
      call(label).stream.end();
    },
  };
}

/** The parameters of a call the upstream knows by its label. */
export const callParams = (label: string) => ({
  name: 't',
  arguments: { label },
  _meta: { progressToken: label },
});

/** The same session at the gateway's new address. */
export const at = (url: string, { id, revision, initialize }: WireSession) =>
  new WireSession(url, id, revision, initialize, {});

/** What a stream carried, in short. */
export function summary(response: RawResponse): string[] {
  return response.messages.map(({ method, params, id, result, error }) =>
    method === 'notifications/progress'
      ? `${params.progressToken}:${params.progress}`
      : (method ?? `${id}=${result?.content[0].text ?? error.code}`),
  );
}
