import { CreateMessageRequestParamsSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { ALL_LEGACY_FEATURES } from '../../../src/translation/legacy-features.js';
import { samplingParamsToLegacy, samplingResultToLegacy } from '../../../src/translation/sampling.js';
import { FRAGILE } from './wire.js';

const WITHOUT_TOOLS = { ...ALL_LEGACY_FEATURES, samplingTools: false };
const text = (words: string): string => `{"type":"text","text":"${words}"}`;
const AUDIO = '{"type":"audio","data":"AAAA","mimeType":"audio/wav"}';

describe('samplingParamsToLegacy', () => {
  it('X19 C12 carries what the client can read byte for byte', () => {
    const params = `{ "messages":[{"role":"user","content":[${text('a')},${AUDIO}]}] ,"metadata":${FRAGILE},"maxTokens":1.0}`;
    expect(samplingParamsToLegacy(params, ALL_LEGACY_FEATURES)).toBe(params);
    const single = `{"messages":[{"role":"user","content":${text('a')}}],"maxTokens":1}`;
    expect(samplingParamsToLegacy(single, WITHOUT_TOOLS)).toBe(single);
  });

  it('X15 makes one message per block where content is one block', () => {
    expect(
      samplingParamsToLegacy(
        `{"messages":[{"role":"user","content":[${text('a')}, ${text('b')}],"_meta":{"k":1}},{"role":"assistant","content":[]}]}`,
        WITHOUT_TOOLS,
      ),
    ).toBe(
      `{"messages":[{"role":"user","content":${text('a')},"_meta":{"k":1}},{"role":"user","content":${text('b')},"_meta":{"k":1}},{"role":"assistant","content":[]}]}`,
    );
  });

  it('X15 puts audio into words for a client without it', () => {
    const words = text('[audio/wav, 3 bytes, left out: the protocol revision in use has no audio content]');
    const features = { ...WITHOUT_TOOLS, audio: false };
    expect(samplingParamsToLegacy(`{"messages":[{"role":"user","content":${AUDIO}}]}`, features)).toBe(
      `{"messages":[{"role":"user","content":${words}}]}`,
    );
    expect(samplingParamsToLegacy(`{"messages":[{"role":"user","content":[${AUDIO}]}]}`, features)).toBe(
      `{"messages":[{"role":"user","content":${words}}]}`,
    );
  });

  it('X10 C14 makes tools and tool results readable for the legacy SDK', () => {
    const params = samplingParamsToLegacy(
      `{"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[],"structuredContent":[1.0]}]}],"maxTokens":1,"tools":[{"name":"a","inputSchema":{"properties":{"p":true}},"outputSchema":{"type":"array"}},{"name":"b"}]}`,
      ALL_LEGACY_FEATURES,
    );
    expect(params).toContain('"structuredContent":{"result":[1.0]}');
    expect(CreateMessageRequestParamsSchema.parse(JSON.parse(params)).tools).toHaveLength(1);
  });

  it('X19 leaves malformed params alone', () => {
    for (const params of ['null', '[]', '{}', '{"messages":{}}', '{"messages":[1,{}]}']) {
      expect(samplingParamsToLegacy(params, WITHOUT_TOOLS)).toBe(params);
    }
  });
});

describe('samplingResultToLegacy', () => {
  it('X15 takes a single block out of its array where content is one block', () => {
    expect(samplingResultToLegacy(`{"content":[${text('a')}],"model":"m"}`, WITHOUT_TOOLS)).toBe(
      `{"content":${text('a')},"model":"m"}`,
    );
    expect(samplingResultToLegacy(`{"content":[${AUDIO}]}`, { ...WITHOUT_TOOLS, audio: false })).toContain(
      '3 bytes',
    );
  });

  it('X19 leaves other answers byte for byte', () => {
    for (const result of [`{"content":[${text('a')},${text('b')}]}`, `{"content":${AUDIO}}`, '{}', 'null']) {
      expect(samplingResultToLegacy(result, WITHOUT_TOOLS)).toBe(result);
    }
    const result = `{"content":[${text('a')}]}`;
    expect(samplingResultToLegacy(result, ALL_LEGACY_FEATURES)).toBe(result);
  });
});
