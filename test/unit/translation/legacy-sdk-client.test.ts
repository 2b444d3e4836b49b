import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { describe, expect, it } from 'vitest';
import { ALL_LEGACY_FEATURES } from '../../../src/translation/legacy-features.js';
import { modernResultToLegacy } from '../../../src/translation/result.js';
import { initializeResultFromDiscover } from '../../../src/translation/server-description.js';
import { structuredContentToLegacy } from '../../../src/translation/structured-content.js';
import { modernToolsToLegacy } from '../../../src/translation/tools-list.js';
import { editedResult, resultMessage } from './wire.js';

/** What a modern server says; the transport below translates it on the way to the client. */
const DISCOVER =
  '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}';
const INPUT = '{"type":"object","properties":{"anything":true}}';
const TOOLS: Record<string, { schema?: string; value: string }> = {
  users: {
    schema:
      '{"type":"array","items":{"$ref":"#/$defs/user"},"$defs":{"user":{"type":"object","properties":{"id":{"type":"string"},"friends":{"type":"array","items":{"$ref":"#/$defs/user"}}},"required":["id"]}}}',
    value: '[{"id":"1","friends":[{"id":"2"}]}]',
  },
  maybe: { schema: '{"$ref":"#/$defs/n","$defs":{"n":{"type":["number","null"]}}}', value: 'null' },
  zero: { schema: '{"type":"integer"}', value: '0' },
  plain: { schema: '{"type":"object","properties":{"a":true}}', value: '{"a":1}' },
  undeclared: { value: '[1,2]' },
};

function transport(): Transport {
  let wrapped: ReadonlySet<string> = new Set();
  const answer = (method: string, params: Record<string, unknown> | undefined): string => {
    if (method === 'initialize') {
      return initializeResultFromDiscover(resultMessage(DISCOVER), {
        protocolVersion: '2025-11-25',
        services: { subscribe: false, listChanged: false },
      });
    }
    if (method === 'tools/list') {
      const tools = Object.entries(TOOLS).map(
        ([name, { schema }]) =>
          `{"name":"${name}","inputSchema":${INPUT}${schema === undefined ? '' : `,"outputSchema":${schema}`}}`,
      );
      return editedResult(`{"resultType":"complete","tools":[${tools.join(',')}]}`, (m, d) => {
        modernResultToLegacy(m, d, method);
        ({ wrapped } = modernToolsToLegacy(m, d));
      });
    }
    const name = String(params?.name);
    return editedResult(`{"resultType":"complete","structuredContent":${TOOLS[name]!.value}}`, (m, d) => {
      modernResultToLegacy(m, d, method);
      structuredContentToLegacy(m, d, wrapped.has(name), ALL_LEGACY_FEATURES);
    });
  };
  const self: Transport = {
    start: async () => undefined,
    close: async () => undefined,
    send: async (message) => {
      if (!('method' in message) || !('id' in message)) return;
      const result = JSON.parse(answer(message.method, message.params)) as Record<string, unknown>;
      queueMicrotask(() => self.onmessage?.({ jsonrpc: '2.0', id: message.id, result }));
    },
  };
  return self;
}

describe('the legacy SDK client', () => {
  it('X1 X10 C14 lists the tools of a modern server and validates their results', async () => {
    const client = new Client({ name: 'c', version: '1' });
    await client.connect(transport());
    expect(client.getServerVersion()).toEqual({ name: 'unknown', version: '0' });
    // Twice: the client keeps one validator for all lists it ever got.
    for (let round = 0; round < 2; round++) {
      expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual(Object.keys(TOOLS));
      for (const [name, { value }] of Object.entries(TOOLS)) {
        const result = await client.callTool({ name });
        const expected: unknown = name === 'plain' ? JSON.parse(value) : { result: JSON.parse(value) };
        expect([name, result.structuredContent]).toEqual([name, expected]);
      }
    }
  });
});
