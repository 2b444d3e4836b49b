import { EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type SdkClient, connectSdkClient } from '../bridge/sdk-client.js';
import { ERAS } from '../peers/cells.js';
import { type RunningGateway, startGateway } from '../peers/gateway.js';
import { type SeenNotification, agreeable } from '../peers/question-handlers.js';
import { EverythingServer } from './everything-server.js';

const PATIENCE_MS = 8000;

/** Answers whatever the server asks, and remembers that it did. */
function answering(asked: string[]) {
  return {
    onElicit: (params: any) => {
      asked.push(params.mode ?? 'form');
      return params.mode === 'url'
        ? { action: 'accept' }
        : { action: 'accept', content: { name: 'Ada', check: true } };
    },
    onSample: (params: any) => {
      asked.push('sampling');
      return agreeable.onSample(params);
    },
    onRoots: () => {
      asked.push('roots');
      return agreeable.onRoots();
    },
  };
}

let upstream: EverythingServer;
let gateway: RunningGateway;
/** Without a gateway: what it says is right. */
let direct: SdkClient;

beforeAll(async () => {
  upstream = await EverythingServer.start();
  gateway = await startGateway(upstream.url);
  direct = await connectSdkClient('legacy', upstream.url, answering([]));
});

afterAll(async () => {
  await direct.close();
  await gateway.close();
  await upstream.close();
});

describe.each(ERAS)('the public server-everything, %s client', (era) => {
  const asked: string[] = [];
  const heard = new EventEmitter<{ notification: [SeenNotification] }>();
  let sdk: SdkClient;

  beforeAll(async () => {
    sdk = await connectSdkClient(era, gateway.url, {
      ...answering(asked),
      onNotification: (notification) => heard.emit('notification', notification),
    });
  });

  afterAll(() => sdk.close());

  /** The next notification of this kind whose text contains that. */
  async function notification(method: string, text = ''): Promise<SeenNotification> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      const [seen] = await once(heard, 'notification', { signal });
      if (seen.method === method && JSON.stringify(seen.params).includes(text)) return seen;
    }
  }

  /** A result as the server gave it, without what the modern era adds. */
  function bare({ _meta: meta, resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...result }: any): any {
    const { 'io.modelcontextprotocol/serverInfo': _info, ...others } = meta ?? {};
    return Object.keys(others).length === 0 ? result : { ...result, _meta: others };
  }

  test('server info and instructions', () => {
    expect(sdk.serverInfo).toEqual(direct.serverInfo);
    expect(sdk.instructions).toBe(direct.instructions);
  });

  test('X11 tools; in the modern era without those that run only as tasks', async () => {
    const [seen, own] = [await sdk.listTools(), await direct.listTools()];
    const wanted =
      era === 'legacy'
        ? own.tools
        : own.tools
            .filter(({ execution }: any) => execution?.taskSupport !== 'required')
            .map(({ execution: _execution, ...tool }: any) => tool);
    expect(seen.tools).toEqual(wanted);
    expect(wanted.length).toBeGreaterThan(10);
  });

  test.each([
    ['echo', { message: 'Grüße 😀' }],
    ['get-sum', { a: 1.5, b: 40.5 }],
    ['get-annotated-message', { messageType: 'error', includeImage: true }],
    ['get-resource-links', { count: 3 }],
    ['get-structured-content', { location: 'Chicago' }],
    ['get-tiny-image', {}],
    ['get-sum', { a: 'no number' }],
    ['no-such-tool', {}],
  ])('X14 %s %j answers what it answers without a gateway', async (name, args) => {
    const outcome = (client: SdkClient): Promise<unknown> =>
      client.callTool(name, args).then(bare, (error: unknown) => (error as { code?: number }).code);
    const right = await outcome(direct);
    expect(await outcome(sdk)).toEqual(right);
    expect(right).toBeDefined();
  });

  test('X14 resources, templates, prompts and completion', async () => {
    expect(bare(await sdk.listResources())).toEqual(bare(await direct.listResources()));
    expect(bare(await sdk.listResourceTemplates())).toEqual(bare(await direct.listResourceTemplates()));
    expect(bare(await sdk.listPrompts())).toEqual(bare(await direct.listPrompts()));
    const [first] = (await direct.listResources()).resources;
    expect(bare(await sdk.readResource(first.uri))).toEqual(bare(await direct.readResource(first.uri)));
    const args = { city: 'Zürich', state: 'ZH' };
    expect(bare(await sdk.getPrompt('args-prompt', args))).toEqual(
      bare(await direct.getPrompt('args-prompt', args)),
    );
    const ref = { type: 'ref/prompt', name: 'completable-prompt' };
    const wanted = { ref, argument: { name: 'department', value: 'E' } };
    const { completion } = await sdk.complete(wanted);
    expect(completion).toEqual((await direct.complete(wanted)).completion);
    expect(completion.values).not.toEqual([]);
  });

  test('X22 a long running operation with progress', async () => {
    const seen: unknown[] = [];
    const result = await sdk.callTool(
      'trigger-long-running-operation',
      { duration: 0.3, steps: 3 },
      {
        // Without a total it is the SDK that counts a round of questions: the server may want the roots just now.
        onprogress: ({ progress, total }) => total !== undefined && seen.push([progress, total]),
      },
    );
    expect(seen).toEqual([1, 2, 3].map((step) => [step, 3]));
    expect(result.content[0].text).toContain('Steps: 3');
  });

  test('X20 a long running operation that is cancelled, and the client goes on', async () => {
    const abort = new AbortController();
    const call = sdk.callTool(
      'trigger-long-running-operation',
      { duration: 60, steps: 600 },
      { signal: abort.signal, onprogress: () => abort.abort() },
    );
    await expect(call).rejects.toThrow();
    expect((await sdk.callTool('echo', { message: 'on' })).content[0].text).toContain('on');
  });

  test('X16, X18, X19 sampling, elicitation as form and URL, and roots', async () => {
    const call = async (name: string, args: Record<string, unknown> = {}) =>
      JSON.stringify((await sdk.callTool(name, args)).content);
    asked.length = 0;
    expect(await call('trigger-sampling-request', { prompt: 'x' })).toContain('test-model');
    expect(await call('trigger-elicitation-request')).toContain('Ada');
    expect(await call('get-roots-list')).toContain('file:///root');
    const at = { url: 'https://example.com/open', elicitationId: `e-${era}` };
    expect(await call('trigger-url-elicitation', at)).toContain('accept');
    expect(asked.filter((kind) => kind !== 'roots')).toEqual(['sampling', 'form', 'url']);
  });

  test('X18 a URL that is required first', async () => {
    const args = { url: 'https://example.com/open', elicitationId: `r-${era}`, errorPath: true };
    if (era === 'modern') {
      // -32042 became a question, which was answered.
      const result = await sdk.callTool('trigger-url-elicitation', args);
      expect(JSON.stringify(result.content)).toContain('accept');
    } else {
      const call = sdk.callTool('trigger-url-elicitation', args);
      await expect(call).rejects.toMatchObject({ code: -32042 });
    }
  });

  test('X24 updates of a resource that is watched', async () => {
    const uri = (await sdk.listResources()).resources[0].uri;
    const subscription =
      era === 'legacy'
        ? await sdk.client.subscribeResource({ uri })
        : await sdk.client.listen({ resourceSubscriptions: [uri] });
    const updated = notification('notifications/resources/updated');
    await sdk.callTool('toggle-subscriber-updates');
    expect((await updated).params.uri).toBe(uri);
    await sdk.callTool('toggle-subscriber-updates');
    if (era === 'legacy') await sdk.client.unsubscribeResource({ uri });
    else await subscription.close();
  });

  test('X23 log messages outside any call, which only a legacy client can be sent', async () => {
    const { uri } = (await sdk.listResources()).resources[0];
    if (era === 'legacy') {
      await sdk.client.setLoggingLevel('info');
      const logged = notification('notifications/message', 'Received Subscribe');
      await sdk.client.subscribeResource({ uri });
      expect((await logged).params.level).toBe('info');
    } else {
      const before = sdk.notifications.length;
      const subscription = await sdk.client.listen({ resourceSubscriptions: [uri] });
      await subscription.close();
      const after = sdk.notifications.slice(before);
      expect(after.filter(({ method }) => method === 'notifications/message')).toEqual([]);
    }
  });
});
