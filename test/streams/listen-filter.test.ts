import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { answer, legacyScript, openStream, startScriptedServer } from '../peers/scripted-server.js';
import { KEY, callModern, modernText, postModern } from '../peers/wire-client.js';

const CAPABILITIES = { tools: { listChanged: true }, resources: { subscribe: true } };

/** A gateway in front of a legacy server with a stream that stays silent. */
async function started() {
  const upstream = closing(
    await startScriptedServer(
      legacyScript((_, res) => answer(res, 500), {
        capabilities: CAPABILITIES,
        get: (_, res) => void openStream(res),
      }),
    ),
  );
  return { upstream, url: closing(await startGateway(upstream.url)).url };
}

// @see /specification/2026-07-28/basic/patterns/subscriptions#notification-filter
describe('X24 the filter of subscriptions/listen', () => {
  test.each([
    ['missing', {}],
    ['no object', { notifications: ['toolsListChanged'] }],
    ['a flag that is no boolean', { notifications: { toolsListChanged: 'yes' } }],
    ['one uri instead of several', { notifications: { resourceSubscriptions: 'file:///a' } }],
    ['a uri that is no string', { notifications: { resourceSubscriptions: ['file:///a', 1] } }],
  ])('X24 %s: 400 -32602, and the server hears nothing of it', async (_, params) => {
    const { upstream, url } = await started();
    const { status, message } = await callModern(url, 'subscriptions/listen', params, { id: 'l' });
    expect([status, message.id, message.error.code]).toEqual([400, 'l', -32602]);
    expect(upstream.requestsFor('resources/subscribe')).toEqual([]);
  });

  test.each([
    ['nothing', {}, {}],
    ['what nobody knows', { vendorChanged: 1, toolsListChanged: true }, { toolsListChanged: true }],
    ['false', { toolsListChanged: false }, {}],
  ])('X24 %s is a filter, and acknowledged', async (_, notifications, honoured) => {
    const { url } = await started();
    const response = await postModern(url, modernText(3, 'subscriptions/listen', { notifications }));
    expect(await response.nextMessage()).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { _meta: { [KEY.subscriptionId]: 3 }, notifications: honoured },
    });
  });
});
