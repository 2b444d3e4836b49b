import { describe, expect, it } from 'vitest';
import { contentToLegacy } from '../../../src/translation/content.js';
import { ALL_LEGACY_FEATURES } from '../../../src/translation/legacy-features.js';
import { FRAGILE, editedResult } from './wire.js';

const OLDEST = { ...ALL_LEGACY_FEATURES, resourceLinks: false, audio: false };
const toLegacy = (result: string, features = OLDEST): string =>
  editedResult(result, (m, d) => contentToLegacy(m, d, features));

const LINK = '{"type":"resource_link","uri":"file:///a","name":"a"}';
const AUDIO = '{"type":"audio","data":"AAECAw==","mimeType":"audio/wav"}';
const LINK_WORDS = '{"type":"text","text":"a: file:///a"}';
const AUDIO_WORDS =
  '{"type":"text","text":"[audio/wav, 4 bytes, left out: the protocol revision in use has no audio content]"}';

describe('contentToLegacy', () => {
  it('X15 puts links and audio into words, in tool results', () => {
    const others = `{"type":"text" , "text":"t"}, {"type":"resource","resource":${FRAGILE}}`;
    expect(
      toLegacy(`{"content":[${LINK}, ${others} ,${AUDIO}],"structuredContent":{"content":[${LINK}]}}`),
    ).toBe(
      `{"content":[${LINK_WORDS}, ${others} ,${AUDIO_WORDS}],"structuredContent":{"content":[${LINK}]}}`,
    );
  });

  it('X15 and in prompts and sampling results, where content is one block', () => {
    expect(
      toLegacy(`{"messages":[{"role":"user","content":${LINK}},{"role":"user","content":${AUDIO}}]}`),
    ).toBe(`{"messages":[{"role":"user","content":${LINK_WORDS}},{"role":"user","content":${AUDIO_WORDS}}]}`);
    expect(toLegacy(`{"role":"assistant","model":"m","content":${AUDIO}}`)).toBe(
      `{"role":"assistant","model":"m","content":${AUDIO_WORDS}}`,
    );
  });

  it('X15 says all that a link says, and keeps annotations', () => {
    const link =
      '{"type":"resource_link","uri":"u","name":"n","title":"T","description":"D","mimeType":"text/x","annotations":{"priority":1.0},"_meta":{"k":1}}';
    expect(toLegacy(`{"content":[${link}]}`)).toBe(
      '{"content":[{"type":"text","text":"T (text/x): u\\nD","annotations":{"priority":1.0},"_meta":{"k":1}}]}',
    );
  });

  it('X15 adapts only what the revision lacks', () => {
    const result = `{"content":[${LINK},${AUDIO}]}`;
    expect(toLegacy(result, ALL_LEGACY_FEATURES)).toBe(result);
    expect(toLegacy(result, { ...ALL_LEGACY_FEATURES, resourceLinks: false })).toBe(
      `{"content":[${LINK_WORDS},${AUDIO}]}`,
    );
  });

  it('X15 leaves malformed content alone', () => {
    for (const result of [
      '{"content":null}',
      '{"content":[null,1,"x",{}]}',
      '{"messages":[null,{}]}',
      '{"messages":{}}',
    ]) {
      expect(toLegacy(result)).toBe(result);
    }
  });
});
