import { EventEmitter, on, once } from 'node:events';
import { connectSdkClient, type SdkClient } from '../bridge/sdk-client.js';
import { type ClientHandlers, agreeable } from '../peers/question-handlers.js';
import { type Era, KEY } from '../peers/wire-client.js';
import type { Sighting } from './client.js';

const WATCHED = 'test://watched-resource';
const PATIENCE_MS = 10_000;

const HANDLERS: ClientHandlers = {
  ...agreeable,
  onElicit: (params) => (/decline/.test(params.message) ? { action: 'decline' } : agreeable.onElicit(params)),
};

const textOf = (result: any): string => result.content[0].text;
const jsonOf = (result: any): any => JSON.parse(textOf(result));

const revisionOf = ({ era, client }: SdkClient): unknown =>
  era === 'legacy' ? client.transport.protocolVersion : client.getNegotiatedProtocolVersion();

/** The same as `features.py`, with the TypeScript SDKs. */
const FEATURES: Record<string, (sdk: SdkClient, heard: EventEmitter) => Promise<unknown>> = {
  introduction: async (sdk) => [revisionOf(sdk), sdk.serverInfo?.name ?? ''],
  tools: async (sdk) => (await sdk.listTools()).tools.map(({ name }: any) => name),
  call: async (sdk) =>
    jsonOf(await sdk.callTool('probe_echo', { value: { a: [1, 'zwei', null], ключ: '日本 😀' } })),
  structured: async (sdk) => (await sdk.callTool('probe_structured', { n: 7 })).structuredContent,
  tool_error: async (sdk) => (await sdk.callTool('test_error_handling')).isError,
  progress: async (sdk) => {
    const seen: unknown[] = [];
    const onprogress = ({ progress, total, message }: any) => seen.push([progress, total, message]);
    const result = await sdk.callTool('probe_slow', { ms: 60, tickMs: 20, label: 'p' }, { onprogress });
    return [seen, textOf(result)];
  },
  log: async (sdk) => {
    if (sdk.era === 'legacy') {
      if (sdk.serverCapabilities.logging !== undefined) await sdk.client.setLoggingLevel('warning');
      await sdk.callTool('probe_log', { label: 'l' });
    } else {
      const _meta = { [KEY.logLevel]: 'warning' };
      await sdk.client.callTool({ name: 'probe_log', arguments: { label: 'l' }, _meta });
    }
    return sdk.notifications
      .filter(({ method }) => method === 'notifications/message')
      .map(({ params }) => params.level);
  },
  resources: async (sdk) => {
    const { resources } = await sdk.listResources();
    const { resourceTemplates } = await sdk.listResourceTemplates();
    return {
      listed: resources.map(({ uri }: any) => uri),
      templates: resourceTemplates.map(({ uriTemplate }: any) => uriTemplate),
      read: (await sdk.readResource('test://static-text')).contents[0].text,
      made: JSON.parse((await sdk.readResource('test://template/42/data')).contents[0].text).id,
    };
  },
  missing_resource: async (sdk) =>
    sdk.readResource('test://nothing-here').then(
      () => undefined,
      (error: unknown) => (error as { code?: unknown }).code,
    ),
  prompts: async (sdk) => {
    const { prompts } = await sdk.listPrompts();
    const { messages } = await sdk.getPrompt('test_prompt_with_arguments', { arg1: 'eins', arg2: 'zwei' });
    return { listed: prompts.map(({ name }: any) => name), text: messages[0].content.text };
  },
  completion: async (sdk) => {
    const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };
    return (await sdk.complete({ ref, argument: { name: 'arg1', value: 'par' } })).completion.values;
  },
  elicitation: async (sdk) => {
    const ask = async (label: string) => jsonOf(await sdk.callTool('probe_elicit_form', { label }));
    return [await ask('yes'), await ask('decline')];
  },
  url_elicitation: async (sdk) => jsonOf(await sdk.callTool('probe_elicit_url', { label: 'u' })).action,
  sampling: async (sdk) => jsonOf(await sdk.callTool('probe_sample', { prompt: 'say' })).content.text,
  roots: async (sdk) => jsonOf(await sdk.callTool('probe_roots')),
  rounds: async (sdk) => textOf(await sdk.callTool('probe_two_rounds', { label: 'r' })),
  at_once: async (sdk) => {
    const values = Array.from({ length: 10 }, (_, value) => value);
    return Promise.all(
      values.map(async (value) => jsonOf(await sdk.callTool('probe_echo', { value })).value),
    );
  },
  changes: async (sdk, heard) => {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const changes = on(heard, 'change', { signal });
    const subscription =
      sdk.era === 'legacy'
        ? await sdk.client.subscribeResource({ uri: WATCHED })
        : await sdk.client.listen({ toolsListChanged: true, resourceSubscriptions: [WATCHED] });
    await sdk.callTool('probe_trigger_change', { kind: 'updated', uri: WATCHED });
    await sdk.callTool('probe_trigger_change', { kind: 'tools' });
    const seen = [(await changes.next()).value[0], (await changes.next()).value[0]];
    if (sdk.era === 'legacy') await sdk.client.unsubscribeResource({ uri: WATCHED });
    else await subscription.close();
    return seen.sort();
  },
  cancelled: async (sdk) => {
    const abort = new AbortController();
    const call = sdk.callTool(
      'probe_slow',
      { ms: 30_000, tickMs: 50 },
      { signal: abort.signal, onprogress: () => abort.abort() },
    );
    await call.catch(() => undefined);
    return jsonOf(await sdk.callTool('probe_echo', { value: 'after' })).value;
  },
};

/** Tries these features with the SDK client of that era. */
export async function reportTypeScript(
  era: Era,
  url: string,
  features: readonly string[],
): Promise<Sighting[]> {
  const heard = new EventEmitter();
  const sdk = await connectSdkClient(era, url, {
    ...HANDLERS,
    onNotification: ({ method, params }) => {
      if (method === 'notifications/resources/updated') heard.emit('change', `updated ${params.uri}`);
      else if (method === 'notifications/tools/list_changed') heard.emit('change', 'tools');
    },
  });
  const sightings: Sighting[] = [];
  for (const [feature, attempt] of Object.entries(FEATURES)) {
    if (!features.includes(feature)) continue;
    const tooLate = once(AbortSignal.timeout(PATIENCE_MS), 'abort').then(() => {
      throw new Error('took too long');
    });
    const sighting = Promise.race([attempt(sdk, heard), tooLate]).then(
      (seen) => ({ feature, seen }),
      (error: unknown) => ({ feature, error: String(error) }),
    );
    sightings.push(await sighting);
  }
  await sdk.close();
  return sightings;
}
