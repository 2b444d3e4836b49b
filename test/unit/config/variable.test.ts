import { describe, expect, test } from 'vitest';
import type { LocatedText } from '../../../src/config/issue-text.js';
import { expandVariables } from '../../../src/config/variable.js';

const environment = { A: 'alpha', EMPTY: '', NESTED: '${A}', PORT: '9000', YES: 'true' };

function expand(value: unknown): [unknown, LocatedText[]] {
  const problems: LocatedText[] = [];
  return [expandVariables(value, environment, problems), problems];
}

describe('expandVariables', () => {
  test.each([
    ['${A}', 'alpha'],
    ['x${A}y${A}z', 'xalphayalphaz'],
    ['${B:-other}', 'other'],
    ['${B:-}', ''],
    ['${EMPTY}', ''],
    ['${EMPTY:-other}', 'other'],
    ['${A:-other}', 'alpha'],
    ['${NESTED}', '${A}'],
    ['$${A}', '${A}'],
    ['$A $ $$ {A}', '$A $ $$ {A}'],
    ['${B:-a:-b$c}', 'a:-b$c'],
  ])('%s becomes %s', (text, expected) => {
    expect(expand({ publicUrl: text })).toEqual([{ publicUrl: expected }, []]);
  });

  test('a variable that is not set is named, with its key', () => {
    const [, problems] = expand({ upstreams: { a: { headers: { 'X-A': '${TOKEN} ${OTHER}' } } } });
    expect(problems).toEqual([
      { path: ['upstreams', 'a', 'headers', 'X-A'], message: 'environment variable TOKEN is not set' },
      { path: ['upstreams', 'a', 'headers', 'X-A'], message: 'environment variable OTHER is not set' },
    ]);
  });

  test('names every object inherits are not set', () => {
    expect(expand(['${constructor}', '${__proto__}'])[1]).toHaveLength(2);
  });

  test.each(['${', '${}', '${1A}', '${A', '${A-b}', '${A:+b}'])('%s is a mistake', (text) => {
    const [, problems] = expand([text]);
    expect(problems).toEqual([{ path: [0], message: expect.stringContaining('expected ${NAME}') }]);
  });

  test('numbers and booleans are read where they belong, and only there', () => {
    const [tree] = expand({
      listen: { host: '${A}', port: '${PORT}' },
      compat: { hybridClients: '${YES}' },
      limits: { rounds: '${A}', batchSize: '9000' },
      upstreams: { a: { headers: { 'X-Pin': '${PORT}' }, cache: '${NO:-false}' } },
    });
    expect(tree).toEqual({
      listen: { host: 'alpha', port: 9000 },
      compat: { hybridClients: true },
      limits: { rounds: 'alpha', batchSize: '9000' },
      upstreams: { a: { headers: { 'X-Pin': '9000' }, cache: false } },
    });
  });

  test('keys stay as they are, an own __proto__ too', () => {
    const [tree] = expand(JSON.parse('{"${A}":1,"__proto__":{"x":"${A}"}}'));
    expect(JSON.stringify(tree)).toBe('{"${A}":1,"__proto__":{"x":"alpha"}}');
  });
});
