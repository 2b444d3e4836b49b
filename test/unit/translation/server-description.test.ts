import { describe, expect, it } from 'vitest';
import { InitializeResultSchema } from '@modelcontextprotocol/sdk/types.js';
import {
  discoverResultFromInitialize,
  initializeResultFromDiscover,
  serverInfoOf,
} from '../../../src/translation/server-description.js';
import { FRAGILE, resultMessage } from './wire.js';

const INFO = 'io.modelcontextprotocol/serverInfo';
const services = { subscribe: true, listChanged: true };
const SERVER = '{"name":"s","version":"1","title":"T"}';

describe('initializeResultFromDiscover', () => {
  const make = (result: string): string =>
    initializeResultFromDiscover(resultMessage(result), { protocolVersion: '2025-11-25', services });

  it('X1 says what a discover result says, in the words of initialize', () => {
    const printed = make(
      `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"i","_meta":{"${INFO}":${SERVER},"k":${FRAGILE}},"x":1.10,"ttlMs":5,"cacheScope":"public"}`,
    );
    expect(printed).toBe(
      `{"capabilities":{"tools":{}},"instructions":"i","_meta":{"k":${FRAGILE}},"x":1.10,"protocolVersion":"2025-11-25","serverInfo":${SERVER}}`,
    );
    InitializeResultSchema.parse(JSON.parse(printed));
  });

  it('X1 makes up what the legacy era requires and the server left out', () => {
    const printed = make('{"resultType":"complete","supportedVersions":[]}');
    expect(JSON.parse(printed)).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: {},
      serverInfo: { name: 'unknown', version: '0' },
    });
    InitializeResultSchema.parse(JSON.parse(printed));
    expect(JSON.parse(make(`{"_meta":{"${INFO}":{"name":"s","version":3}}}`)).serverInfo).toEqual({
      name: 's',
      version: '0',
    });
  });

  it('X1 finds serverInfo in the body of servers that put it there', () => {
    expect(serverInfoOf(resultMessage(`{"serverInfo":${SERVER}}`))).toBe(SERVER);
    expect(JSON.parse(make(`{"serverInfo":${SERVER}}`)).serverInfo).toEqual(JSON.parse(SERVER));
    expect(serverInfoOf(resultMessage(`{"_meta":{"${INFO}":"s"},"serverInfo":null}`))).toBeUndefined();
  });
});

describe('discoverResultFromInitialize', () => {
  const make = (result: string): unknown =>
    JSON.parse(
      discoverResultFromInitialize(resultMessage(result), {
        supportedVersions: ['2026-07-28', '2025-11-25'],
        services: { subscribe: false, listChanged: true },
      }),
    );

  it('X1 X9 says what an initialize result says, in the words of discover', () => {
    expect(
      make(
        `{"protocolVersion":"2025-06-18","capabilities":{"resources":{"subscribe":true},"tasks":{}},"serverInfo":${SERVER},"instructions":"i","_meta":{"k":1}}`,
      ),
    ).toEqual({
      resultType: 'complete',
      supportedVersions: ['2026-07-28', '2025-11-25'],
      capabilities: { resources: {} },
      instructions: 'i',
      ttlMs: 0,
      cacheScope: 'private',
      _meta: { k: 1, [INFO]: JSON.parse(SERVER) },
    });
  });

  it('X1 copes with a server that leaves things out', () => {
    expect(make('{"protocolVersion":"2025-06-18"}')).toEqual({
      resultType: 'complete',
      supportedVersions: ['2026-07-28', '2025-11-25'],
      capabilities: {},
      ttlMs: 0,
      cacheScope: 'private',
    });
  });
});
