import { describe, expect, test } from 'vitest';
import { ERAS } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import {
  type Script,
  answer,
  answerResult,
  answerRpcError,
  legacyScript,
  startScriptedServer,
} from '../peers/scripted-server.js';
import { POST_HEADERS, callModern, initializeText, openWireClient } from '../peers/wire-client.js';
import { sendRaw } from '../peers/raw-client.js';

const GOOD = { authorization: 'Bearer good' };

/** A legacy server that refuses strangers, and clients it cannot make sense of, in JSON-RPC instead of HTTP. */
const calls: Script = (request, res) => answerResult(res, request, { tools: [] });
const accepting = legacyScript(calls);
const strict = legacyScript(calls, {
  initialize: (request, res) => {
    if (request.headers.authorization === 'Bearer crash') answer(res, 500, 'oops');
    else if (request.headers.authorization !== GOOD.authorization)
      answerRpcError(res, request, 200, -32001, 'who are you?');
    else if (typeof request.message.params.clientInfo?.name !== 'string')
      answerRpcError(res, request, 400, -32602, 'clientInfo needs a name');
    else void accepting(request, res);
  },
});

/** What somebody nobody wants may send. */
const UNWANTED: Record<string, (url: string) => Promise<{ status: number }>> = {
  'initialize with a foreign credential': (url) =>
    sendRaw(url, { headers: { ...POST_HEADERS, authorization: 'Bearer bad' }, body: initializeText() }),
  'initialize without a name': (url) =>
    sendRaw(url, { headers: { ...POST_HEADERS, ...GOOD }, body: initializeText({ clientInfo: {} }) }),
  'a modern request with a foreign credential': (url) =>
    callModern(url, 'tools/list', {}, { headers: { authorization: 'Bearer bad' } }),
  'a modern request without a name': (url) =>
    callModern(
      url,
      'tools/list',
      {},
      {
        headers: GOOD,
        meta: { 'io.modelcontextprotocol/clientInfo': {} },
      },
    ),
};

describe.each(Object.entries(UNWANTED))('%s, refused by the upstream', (_, send) => {
  test.each(ERAS)('costs a %s client nothing, the verdict being known', async (era) => {
    const upstream = closing(await startScriptedServer(strict));
    const { url, verdict } = closing(await startGateway(upstream.url));
    await openWireClient(era, url, { headers: GOOD });
    await callModern(url, 'tools/list', {}, { headers: GOOD });
    expect(verdict('default')?.era).toBe('legacy');
    await send(url);
    expect(verdict('default')?.era).toBe('legacy');
    // Another client of the same credential, whom the upstream has not met.
    const other = await openWireClient(era, url, { headers: GOOD, clientInfo: { name: 'n', version: '2' } });
    expect((await other.call('tools/list')).message).toHaveProperty('result.tools');
  });

  test.each(ERAS)('costs a %s client nothing, though it came first', async (era) => {
    const upstream = closing(await startScriptedServer(strict));
    const { url } = closing(await startGateway(upstream.url));
    await send(url);
    const client = await openWireClient(era, url, { headers: GOOD });
    expect((await client.call('tools/list')).message).toHaveProperty('result.tools');
  });

  test.each(ERAS)('costs a %s client nothing that asks at the same time', async (era) => {
    const upstream = closing(await startScriptedServer(strict));
    const { url } = closing(await startGateway(upstream.url));
    const sending = send(url);
    const client = await openWireClient(era, url, { headers: GOOD });
    expect((await client.call('tools/list')).message).toHaveProperty('result.tools');
    await sending;
  });
});

test.each(ERAS)(
  'a caller on whom the upstream breaks costs a %s client nothing, the verdict being old',
  async (era) => {
    const upstream = closing(await startScriptedServer(strict));
    const { url } = closing(await startGateway(upstream.url, { timeouts: { eraTtlMs: 1 } }));
    await callModern(url, 'tools/list', {}, { headers: GOOD });
    const { status } = await callModern(
      url,
      'tools/list',
      {},
      { headers: { authorization: 'Bearer crash' } },
    );
    expect(status).toBeGreaterThanOrEqual(500);
    const client = await openWireClient(era, url, { headers: GOOD });
    expect((await client.call('tools/list')).message).toHaveProperty('result.tools');
  },
);
