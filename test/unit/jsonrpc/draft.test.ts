import fc from 'fast-check';
import { LosslessNumber, parse, stringify } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { Draft } from '../../../src/jsonrpc/draft.js';
import {
  memberOf,
  scanInnerArray,
  scanInnerObject,
  scanObjectText,
  valueText,
} from '../../../src/jsonrpc/json-scan.js';
import { jsonText, objectMembers, printMembers } from './json-texts.js';

const scan = (text: string) => scanInnerObject(text, 0, { _meta: {} });

type Operation = readonly [key: string, value: string | undefined];

const operations = (keys: string[]): fc.Arbitrary<Operation[]> =>
  fc.array(
    fc.tuple(
      fc.oneof(fc.constantFrom('new', '__proto__', 'a', 'n"w'), fc.constantFrom('b', ...keys)),
      fc.option(jsonText, { nil: undefined }),
    ),
    { maxLength: 6 },
  );

const edits = objectMembers.chain((members) =>
  fc.tuple(fc.constant(members), operations(members.map(([key]) => JSON.parse(key) as string))),
);

describe('Draft', () => {
  it('C12 leaves every member that is not edited byte for byte, and edits the others', () => {
    fc.assert(
      fc.property(edits, ([members, ops]) => {
        const text = `{${printMembers(members)}}`;
        const object = scan(text);
        const expected = new Map(object.members.map((m) => [m.key, valueText(text, m)]));
        const draft = new Draft(text);
        for (const [key, value] of ops) {
          if (value === undefined) draft.remove(object, key);
          else draft.set(object, key, value);
        }
        // The last edit of a member counts; new members stand behind the old ones.
        for (const [key, value] of new Map(ops)) {
          if (value === undefined) expected.delete(key);
          else expected.set(key, value);
        }
        const printed = draft.print();
        JSON.parse(printed);
        const got = scan(printed).members.map((m) => [m.key, valueText(printed, m)] as const);
        expect(new Map(got)).toEqual(expected);
        expect(got).toHaveLength(expected.size);
        const order = object.members.map((m) => m.key).filter((key) => expected.has(key));
        expect(got.map(([key]) => key).slice(0, order.length)).toEqual(order);
      }),
      { numRuns: 2_000 },
    );
  });

  it('C12 agrees with a lossless parser on what the edited text means', () => {
    fc.assert(
      fc.property(edits, ([members, ops]) => {
        const text = `{${printMembers(members)}}`;
        const object = scan(text);
        const draft = new Draft(text);
        const oracle = parse(text) as Record<string, unknown>;
        for (const [key, value] of new Map(ops)) {
          if (value === undefined) draft.remove(object, key);
          else draft.set(object, key, value);
          Reflect.deleteProperty(oracle, key);
          if (value !== undefined) define(oracle, key, parse(value));
        }
        expect(normal(parse(draft.print()))).toEqual(normal(oracle));
      }),
      { numRuns: 1_000 },
    );
  });

  it('C12 prints the very text when nothing is edited', () => {
    fc.assert(
      fc.property(objectMembers, (members) => {
        const text = ` {${printMembers(members)}} `;
        const object = scanObjectText(text, {}, 99);
        const draft = new Draft(text);
        draft.remove(object, 'not a member at all');
        draft.prune(object, '_meta');
        draft.removeElements([], new Set());
        expect(draft.print()).toBe(text);
      }),
    );
  });

  it('C12 removes elements and keeps the others byte for byte', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(jsonText, fc.boolean()), { maxLength: 6 }), (items) => {
        const text = `[${items.map(([item]) => ` ${item}\t`).join(',')}]`;
        const draft = new Draft(text);
        draft.removeElements(
          scanInnerArray(text, 0),
          new Set(items.flatMap(([, gone], i) => (gone ? [i] : []))),
        );
        const printed = draft.print();
        expect(scanInnerArray(printed, 0).map((span) => valueText(printed, span))).toEqual(
          items.filter(([, gone]) => !gone).map(([item]) => item),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('takes the last of several edits of one member', () => {
    const text = '{"a":1,"b":2}';
    const object = scan(text);
    const draft = new Draft(text);
    draft.remove(object, 'a');
    draft.set(object, 'a', '3');
    draft.set(object, 'b', '4');
    draft.remove(object, 'b');
    draft.set(object, 'c', '5');
    draft.set(object, 'c', '6');
    draft.set(object, 'd', '7');
    draft.remove(object, 'd');
    expect(draft.print()).toBe('{"a":3,"c":6}');
  });

  it('leaves one member of a repeated one it sets, and none of one it removes', () => {
    const text = '{"a":1,"b":0,"a":2,"c":0,"c":0}';
    const object = scan(text);
    const draft = new Draft(text);
    draft.set(object, 'a', '3');
    draft.remove(object, 'c');
    expect(draft.print()).toBe('{"b":0,"a":3}');
  });

  it('prunes an object only when edits emptied it', () => {
    const prune = (text: string, edit: (draft: Draft, meta: ReturnType<typeof scan>) => void): string => {
      const object = scan(text);
      const draft = new Draft(text);
      draft.prune(object, '_meta');
      edit(draft, memberOf(object, '_meta')!.object!);
      return draft.print();
    };
    const one = '{"x":1,"_meta":{"a":1}}';
    expect(prune(one, (draft, meta) => draft.remove(meta, 'a'))).toBe('{"x":1}');
    expect(prune(one, (draft, meta) => draft.remove(meta, 'b'))).toBe(one);
    expect(
      prune(one, (draft, meta) => {
        draft.remove(meta, 'a');
        draft.set(meta, 'b', '2');
      }),
    ).toBe('{"x":1,"_meta":{"b":2}}');
    expect(prune('{"_meta":{}}', (draft, meta) => draft.remove(meta, 'a'))).toBe('{"_meta":{}}');
  });

  it('replaces spans beside other edits, and refuses edits that cut into each other', () => {
    const text = '{"a":[1,2],"b":3}';
    const object = scan(text);
    const draft = new Draft(text);
    draft.replace(scanInnerArray(text, 5)[1]!, '9');
    draft.set(object, 'b', '4');
    expect(draft.print()).toBe('{"a":[1,9],"b":4}');
    draft.set(object, 'a', '0');
    expect(() => draft.print()).toThrow('two edits of one place');
  });
});

/** Defines a member as an own one, `__proto__` included. */
function define(object: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

/** A value with numbers as their text and members in a fixed order, so that deep equality sees everything. */
function normal(value: unknown): unknown {
  if (value instanceof LosslessNumber) return stringify(value);
  if (Array.isArray(value)) return value.map(normal);
  if (value === null || typeof value !== 'object') return [typeof value, value];
  return Object.keys(value)
    .sort()
    .map((key) => [key, normal(Object.getOwnPropertyDescriptor(value, key)?.value)]);
}
