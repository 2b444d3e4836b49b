import { describe, expect, test } from 'vitest';
import { ERAS, startPeer } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { connectLegacyClient } from '../peers/legacy-client.js';
import { connectModernClient } from '../peers/modern-client.js';
import { agreeable } from '../peers/question-handlers.js';
import type { RawResponse } from '../peers/raw-client.js';
import { KEY, type WireSession, callModern, openWireSession } from '../peers/wire-client.js';

const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

const ask = (label: string) => ({ name: 'probe_elicit_form', arguments: { label } });

/** Answers a question that came on a stream. */
async function answerWith(session: WireSession, id: unknown, name: string): Promise<void> {
  const result = { action: 'accept', content: { name } };
  const response = await session.post(JSON.stringify({ jsonrpc: '2.0', id, result }));
  expect(response.status).toBe(202);
}

describe.each(ERAS)('C16 questions to a legacy client, %s upstream', (era) => {
  async function connected() {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url, { capabilities: CAPABILITIES });
    return { upstream, gateway, session };
  }

  /** Sends the call and waits for its question. */
  async function asked(session: WireSession, id: string, label: string): Promise<[RawResponse, any]> {
    const response = await session.request(id, 'tools/call', ask(label));
    const question = await response.nextMessage();
    expect(question).toMatchObject({
      jsonrpc: '2.0',
      method: 'elicitation/create',
      params: { message: `Probe form ${label}` },
    });
    expect(question.id).toBeDefined();
    return [response, question];
  }

  test('C16 the tool is called twice: both times the question comes on the stream of its POST', async () => {
    const { session } = await connected();
    const ids = new Set<unknown>();
    for (const label of ['one', 'two']) {
      const [response, question] = await asked(session, label, label);
      ids.add(question.id);
      await answerWith(session, question.id, `Ada ${label}`);
      const { id, result } = await response.rpc();
      expect(id).toBe(label);
      expect(JSON.parse(result.content[0].text).content).toEqual({ name: `Ada ${label}` });
      await response.text();
      expect(response.messages).toHaveLength(2);
    }
    expect(ids.size).toBe(2);
  });

  test('C16 the same id for both calls makes no difference', async () => {
    const { session } = await connected();
    for (const label of ['one', 'two']) {
      const [response, question] = await asked(session, 'same', label);
      await answerWith(session, question.id, label);
      expect((await response.rpc()).id).toBe('same');
    }
  });

  test('C16 two at a time: each question on its own stream, answered in the other order', async () => {
    const { session } = await connected();
    const [[first, firstQuestion], [second, secondQuestion]] = await Promise.all([
      asked(session, 'a', 'one'),
      asked(session, 'b', 'two'),
    ]);
    expect(firstQuestion.id).not.toBe(secondQuestion.id);
    await answerWith(session, secondQuestion.id, 'Second');
    expect((await second.rpc()).result.content[0].text).toContain('Second');
    expect(first.messages).toHaveLength(1);
    await answerWith(session, firstQuestion.id, 'First');
    expect((await first.rpc()).result.content[0].text).toContain('First');
  });

  test('C16 neither comes on the GET stream', async () => {
    const { session } = await connected();
    const standalone = closing(await session.get());
    const [response, question] = await asked(session, 'a', 'one');
    await answerWith(session, question.id, 'Ada');
    await response.text();
    expect(standalone.messages).toEqual([]);
  });

  test('C16 nor on a session that asked nothing', async () => {
    const { gateway, session } = await connected();
    const other = await openWireSession(gateway.url, { capabilities: CAPABILITIES });
    const [response, question] = await asked(session, 'a', 'one');
    const stolen = await other.post(
      JSON.stringify({ jsonrpc: '2.0', id: question.id, result: { action: 'decline' } }),
    );
    expect(stolen.status).toBe(202);
    await answerWith(session, question.id, 'Mine');
    expect((await response.rpc()).result.content[0].text).toContain('Mine');
  });

  test('C16 the SDK client is asked by two calls, one after the other and at once', async () => {
    const { gateway } = await connected();
    const messages: string[] = [];
    const onElicit = (params: any) => {
      messages.push(params.message);
      return agreeable.onElicit(params);
    };
    const { client } = closing(await connectLegacyClient(gateway.url, { ...agreeable, onElicit }));
    for (const label of ['one', 'two']) await client.callTool(ask(label));
    await Promise.all(['three', 'four'].map((label) => client.callTool(ask(label))));
    expect(messages.slice(0, 2)).toEqual(['Probe form one', 'Probe form two']);
    expect(messages.slice(2).sort()).toEqual(['Probe form four', 'Probe form three']);
  });
});

describe.each(ERAS)('C16 questions to a modern client, %s upstream', (era) => {
  async function started() {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url));
    const meta = { [KEY.clientCapabilities]: CAPABILITIES };
    const call = async (params: Record<string, unknown>, id: string | number = 1) =>
      (await callModern(gateway.url, 'tools/call', params, { id, meta })).message;
    return { gateway, call };
  }

  /** The retry of a call with one answer to its one question. */
  function retryOf(params: Record<string, unknown>, required: any, name: string): Record<string, unknown> {
    const [key] = Object.keys(required.inputRequests);
    return {
      ...params,
      inputResponses: { [key ?? '']: { action: 'accept', content: { name } } },
      ...(required.requestState !== undefined && { requestState: required.requestState }),
    };
  }

  test('C16 the tool is called twice: each result asks, each retry ends its own call', async () => {
    const { call } = await started();
    for (const label of ['one', 'two']) {
      const { result } = await call(ask(label));
      expect(result.resultType).toBe('input_required');
      const [question] = Object.values<any>(result.inputRequests);
      expect(question).toMatchObject({
        method: 'elicitation/create',
        params: { message: `Probe form ${label}` },
      });
      const done = await call(retryOf(ask(label), result, `Ada ${label}`), 2);
      expect(done.result.resultType).toBe('complete');
      expect(JSON.parse(done.result.content[0].text).content).toEqual({ name: `Ada ${label}` });
    }
  });

  test('C16 two at a time: the answers do not cross', async () => {
    const { call } = await started();
    const labels = ['one', 'two'];
    const rounds = await Promise.all(labels.map((label) => call(ask(label), 'same')));
    const texts = await Promise.all(
      rounds.map(async ({ result }, i) => {
        const label = labels[i] ?? '';
        const done = await call(retryOf(ask(label), result, `name-${label}`), 'same');
        return done.result.content[0].text;
      }),
    );
    expect(texts[0]).toContain('name-one');
    expect(texts[1]).toContain('name-two');
  });

  test('C16 the SDK client answers both', async () => {
    const { gateway } = await started();
    const messages: string[] = [];
    const onElicit = (params: any) => {
      messages.push(params.message);
      return agreeable.onElicit(params);
    };
    const { client } = closing(await connectModernClient(gateway.url, { ...agreeable, onElicit }));
    for (const label of ['one', 'two']) await client.callTool(ask(label));
    expect(messages).toEqual(['Probe form one', 'Probe form two']);
  });
});
