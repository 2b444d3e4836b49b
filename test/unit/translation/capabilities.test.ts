import { describe, expect, it } from 'vitest';
import {
  clientCapabilitiesToLegacy,
  clientCapabilitiesToModern,
  serverCapabilitiesToLegacy,
  serverCapabilitiesToModern,
} from '../../../src/translation/capabilities.js';
import { ALL_LEGACY_FEATURES } from '../../../src/translation/legacy-features.js';
import { FRAGILE } from './wire.js';

const CARRIED = `"experimental":{"e":${FRAGILE}},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["a"]}},"x":1.0`;

describe('client capabilities', () => {
  it('X2 X31 carries what both eras know, extensions and unknown members', () => {
    const text = `{${CARRIED},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}`;
    expect(clientCapabilitiesToModern(text, ALL_LEGACY_FEATURES)).toBe(text);
    expect(clientCapabilitiesToLegacy(text, ALL_LEGACY_FEATURES)).toBe(text);
  });

  it('X2 takes the list_changed notification of roots on itself', () => {
    expect(clientCapabilitiesToModern('{"roots":{"listChanged":true}}', ALL_LEGACY_FEATURES)).toBe(
      '{"roots":{}}',
    );
    expect(clientCapabilitiesToLegacy('{"roots":{}}', ALL_LEGACY_FEATURES)).toBe(
      '{"roots":{"listChanged":true}}',
    );
    expect(clientCapabilitiesToLegacy('{"roots":{"listChanged":false}}', ALL_LEGACY_FEATURES)).toBe(
      '{"roots":{"listChanged":true}}',
    );
    expect(clientCapabilitiesToLegacy('{}', ALL_LEGACY_FEATURES)).toBe('{}');
  });

  it('X2 X31 claims no tasks across the eras', () => {
    const text = `{"tasks":{"list":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`;
    expect(clientCapabilitiesToModern(text, ALL_LEGACY_FEATURES)).toBe('{}');
    expect(clientCapabilitiesToLegacy(text, ALL_LEGACY_FEATURES)).toBe('{}');
    expect(
      clientCapabilitiesToLegacy(
        '{"extensions":{"io.modelcontextprotocol/tasks":{},"a/b":{}}}',
        ALL_LEGACY_FEATURES,
      ),
    ).toBe('{"extensions":{"a/b":{}}}');
    expect(clientCapabilitiesToLegacy('{"extensions":{}}', ALL_LEGACY_FEATURES)).toBe('{"extensions":{}}');
  });

  it('X15 declares nothing that the legacy revision does not have', () => {
    const text = '{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}}}';
    for (const translate of [clientCapabilitiesToLegacy, clientCapabilitiesToModern]) {
      expect(translate(text, { ...ALL_LEGACY_FEATURES, urlElicitation: false, samplingTools: false })).toBe(
        '{"elicitation":{"form":{}},"sampling":{"context":{}}}',
      );
      expect(translate(text, { ...ALL_LEGACY_FEATURES, elicitation: false, urlElicitation: false })).toBe(
        '{"sampling":{"tools":{},"context":{}}}',
      );
    }
  });

  it('X15 X2 does not turn URL mode only into form mode', () => {
    const features = { ...ALL_LEGACY_FEATURES, urlElicitation: false };
    expect(clientCapabilitiesToLegacy('{"elicitation":{"url":{}}}', features)).toBe('{}');
    expect(clientCapabilitiesToLegacy('{"elicitation":{}}', features)).toBe('{"elicitation":{}}');
  });

  it('X2 treats what is no object as no capabilities', () => {
    for (const text of ['null', '[]', '"x"', '']) {
      expect(clientCapabilitiesToLegacy(text, ALL_LEGACY_FEATURES)).toBe('{}');
    }
  });
});

describe('server capabilities', () => {
  const text = `{"tools":{"listChanged":true},"prompts":{"listChanged":true,"p":1},"resources":{"subscribe":true,"listChanged":true},"logging":{},"completions":{},${CARRIED}}`;

  it('X2 keeps what the gateway can deliver', () => {
    const services = { subscribe: true, listChanged: true };
    expect(serverCapabilitiesToLegacy(text, services)).toBe(text);
    expect(serverCapabilitiesToModern(text, services)).toBe(text);
  });

  it('X2 withdraws what it cannot deliver, and keeps the capability itself', () => {
    const services = { subscribe: false, listChanged: false };
    for (const translate of [serverCapabilitiesToLegacy, serverCapabilitiesToModern]) {
      expect(translate(text, services)).toBe(
        `{"tools":{},"prompts":{"p":1},"resources":{},"logging":{},"completions":{},${CARRIED}}`,
      );
    }
  });

  it('X2 X31 claims no tasks across the eras', () => {
    const services = { subscribe: true, listChanged: true };
    const tasks = `{"tasks":{"requests":{"tools":{"call":{}}}},"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`;
    expect(serverCapabilitiesToModern(tasks, services)).toBe('{"tools":{}}');
    expect(serverCapabilitiesToLegacy(tasks, services)).toBe('{"tools":{}}');
  });
});
