import { describe, expect, test } from 'vitest';
import { ERAS, startPeer, startScript } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { type Script, answer, answerResult } from '../peers/scripted-server.js';
import { callModern, openWireClient, openWireSession } from '../peers/wire-client.js';

const JSON_TYPE = { 'content-type': 'application/json' };

describe.each(ERAS)('C19 a notification is answered 202, %s upstream', (era) => {
  test.each([
    ['notifications/initialized', undefined],
    ['notifications/cancelled', { requestId: 1 }],
    ['notifications/roots/list_changed', undefined],
    ['notifications/progress', { progressToken: 'unknown', progress: 1 }],
    ['notifications/vendor/thing', { a: 1 }],
  ])('C19 %s of a legacy client: no body, no Content-Type', async (method, params) => {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const response = await session.notify(method, params);
    expect(response.status).toBe(202);
    expect(response.headers).not.toHaveProperty('content-type');
    expect(await response.text()).toBe('');
  });

  test('C19 so is a response nobody waits for', async () => {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    for (const answered of [{ result: {} }, { error: { code: 1, message: 'no' } }]) {
      const response = await session.post(JSON.stringify({ jsonrpc: '2.0', id: 99, ...answered }));
      expect(response.status).toBe(202);
      expect(response.headers).not.toHaveProperty('content-type');
      expect(await response.text()).toBe('');
    }
  });

  test.each(['notifications/cancelled', 'notifications/vendor/thing'])(
    'C19 %s of a modern client: no body, no Content-Type',
    async (method) => {
      const upstream = closing(await startPeer(era));
      const gateway = closing(await startGateway(upstream.url));
      const client = await openWireClient('modern', gateway.url);
      const response = await client.notify(method, { requestId: 1 });
      expect(response.status).toBe(202);
      expect(response.headers).not.toHaveProperty('content-type');
      expect(await response.text()).toBe('');
    },
  );
});

/** What real servers answer to a notification. */
const ANSWERS: [string, Script][] = [
  ['202 empty', (_, res) => answer(res, 202, '', {})],
  ['200 null', (_, res) => answer(res, 200, 'null')],
  ['204', (_, res) => answer(res, 204, '', {})],
  ['200 empty JSON', (_, res) => answer(res, 200, '', JSON_TYPE)],
  ['200 empty without a type', (_, res) => answer(res, 200, '', {})],
  ['200 {}', (_, res) => answer(res, 200, '{}')],
  ['200 text', (_, res) => answer(res, 200, 'OK', { 'content-type': 'text/plain' })],
  ['202 Accepted as HTML', (_, res) => answer(res, 202, '<p>Accepted</p>', { 'content-type': 'text/html' })],
  [
    '200 and an event stream that ends',
    (_, res) => answer(res, 200, ':\n\n', { 'content-type': 'text/event-stream' }),
  ],
];

describe.each(ANSWERS)('C19 an upstream that answers notifications with %s', (_, notification) => {
  test.each(ERAS)('C19 is used by a %s client like any other', async (era) => {
    const upstream = closing(
      await startScript('legacy', (request, res) => answerResult(res, request, { content: [] }), {
        notification,
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(era, gateway.url);
    expect((await client.call('tools/call', { name: 't' })).message.result.content).toEqual([]);
    const told = await client.notify('notifications/vendor/thing', { a: 1 });
    expect(told.status).toBe(202);
    expect((await client.call('tools/call', { name: 't' })).status).toBe(200);
    await expect.poll(() => upstream.requestsFor('notifications/vendor/thing').length).toBe(1);
    expect(upstream.requestsFor('notifications/initialized')).toHaveLength(1);
    expect(upstream.requestsFor('initialize')).toHaveLength(1);
  });
});

test('C19 an upstream that refuses a notification, or never answers it, holds nobody up', async () => {
  const upstream = closing(
    await startScript('legacy', (request, res) => answerResult(res, request, { content: [] }), {
      notification: ({ method }, res) => {
        if (method === 'notifications/initialized')
          answer(res, 500, 'boom', { 'content-type': 'text/plain' });
      },
    }),
  );
  const gateway = closing(await startGateway(upstream.url));
  const session = await openWireSession(gateway.url);
  expect((await session.notify('notifications/vendor/thing')).status).toBe(202);
  expect((await session.call('tools/call', { name: 't' })).status).toBe(200);
  const modern = await callModern(gateway.url, 'tools/call', { name: 't' });
  expect(modern.status).toBe(200);
});
