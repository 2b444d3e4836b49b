import { describe, expect, test } from 'vitest';
import { elicitationParamsToLegacy } from '../../../src/translation/elicitation.js';
import { ALL_LEGACY_FEATURES } from '../../../src/translation/legacy-features.js';

const WITHOUT_TITLES = { ...ALL_LEGACY_FEATURES, titledChoices: false };

const asking = (field: string): string =>
  `{"message":"m", "requestedSchema":{"type":"object","properties":{"n":{"type":"number","maximum":1.10},"f":${field}},"required":["f"]}}`;

describe('X15 elicitation for clients before 2025-11-25', () => {
  test('X15 choices with titles become enum and enumNames, and the rest stays byte for byte', () => {
    const choices =
      '{"type":"string","oneOf":[{"const":"#F00","title":"Red"},{"const":"\\u0023000"}],"default":"#F00"}';
    expect(elicitationParamsToLegacy(asking(choices), WITHOUT_TITLES)).toBe(
      asking('{"type":"string","default":"#F00","enum":["#F00","#000"],"enumNames":["Red","#000"]}'),
    );
    expect(elicitationParamsToLegacy(asking(choices), ALL_LEGACY_FEATURES)).toBe(asking(choices));
  });

  test.each([
    ['plain choices', '{"type":"string","enum":["a"]}'],
    ['several choices', '{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}'],
    ['other alternatives', '{"oneOf":[{"type":"string"},{"const":"a","title":"A"}]}'],
    ['choices of numbers', '{"oneOf":[{"const":1,"title":"One"}]}'],
    ['no schema', 'true'],
  ])('X15 %s stay', (_, field) => {
    expect(elicitationParamsToLegacy(asking(field), WITHOUT_TITLES)).toBe(asking(field));
  });

  test.each(['{}', '{"requestedSchema":7}', '{"mode":"url","url":"https://a.example"}', '[]'])(
    'X15 without a form nothing changes: %s',
    (params) => {
      expect(elicitationParamsToLegacy(params, WITHOUT_TITLES)).toBe(params);
    },
  );
});
