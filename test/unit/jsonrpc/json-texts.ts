import fc from 'fast-check';

/**
 * Arbitrary JSON *texts*, with everything a parser that builds values would lose: white space, number spelling,
 * escapes, member order, `__proto__`, and on request repeated members.
 */

const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 2 });

const stringPiece = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }).map(escapeRaw) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('\\n', '\\"', '\\\\', '\\/', '\\b', '\\f', '\\r', '\\t', '\\u0000', '\\u00E9'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('\\ud83d\\ude00', '\\ud800', '\u2028', '{"', '","x":[').map(quoteSafe),
  },
);

/** Leaves every character as it is except the ones a JSON string must not have raw. */
function escapeRaw(text: string): string {
  // eslint-disable-next-line no-control-regex -- exactly what JSON forbids inside strings
  return text.replace(/[\u0000-\u001f"\\]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function quoteSafe(text: string): string {
  return text.replaceAll('"', '\\"');
}

export const stringText = fc.array(stringPiece, { maxLength: 4 }).map((pieces) => `"${pieces.join('')}"`);

export const numberText = fc.oneof(
  fc.constantFrom(
    '9007199254740993',
    '1e400',
    '1.10',
    '-0.0',
    '-0',
    '0',
    '1E+2',
    '0.1e-7',
    '-12345678901234567890',
  ),
  fc.stringMatching(/^-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,3})?$/),
);

const keyText = fc.oneof(
  { weight: 4, arbitrary: stringText },
  { weight: 3, arbitrary: fc.constantFrom('"a"', '"b"', '"_meta"', '"result"', '"params"', '"x y"') },
  { weight: 1, arbitrary: fc.constantFrom('"__proto__"', '"constructor"', '"toString"', '"\\u0061"', '""') },
);

/** One member: the text of its key, and of its value with the space around it. */
export type MemberText = readonly [key: string, value: string];

const scalarText = fc.oneof(stringText, numberText, fc.constantFrom('true', 'false', 'null'));

function containers(repeats: boolean): fc.Arbitrary<string> {
  return fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
    value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, scalarText, tie('array'), tie('object')),
    array: fc
      .tuple(
        space,
        fc.array(
          fc.tuple(space, tie('value'), space).map((t) => t.join('')),
          { maxLength: 4 },
        ),
      )
      .map(([inner, items]) => `[${items.length === 0 ? inner : items.join(',')}]`),
    object: fc
      .tuple(space, memberTexts(tie('value'), repeats))
      .map(([inner, members]) => `{${members.length === 0 ? inner : printMembers(members)}}`),
  })).value;
}

function memberTexts(value: fc.Arbitrary<string>, repeats: boolean): fc.Arbitrary<MemberText[]> {
  const member = fc
    .tuple(space, keyText, space, space, value, space)
    .map(([a, key, b, c, text, d]): MemberText => [`${a}${key}${b}`, `${c}${text}${d}`]);
  return repeats
    ? fc.array(member, { maxLength: 4 })
    : fc.uniqueArray(member, { maxLength: 4, selector: ([key]) => JSON.parse(key) as string });
}

export function printMembers(members: readonly MemberText[]): string {
  return members.map(([key, value]) => `${key}:${value}`).join(',');
}

/** Any JSON value, without space around it; objects have no member twice. */
export const jsonText = containers(false);

/** Any JSON value in which objects may have a member more than once. */
export const repetitiveJsonText = containers(true);

/** The members of an object, none twice. */
export const objectMembers = memberTexts(jsonText, false);

/** A text that is JSON or nearly so: one to three characters were removed, added or replaced. */
export const mutatedJsonText = fc
  .tuple(
    repetitiveJsonText,
    fc.array(fc.tuple(fc.nat(), fc.constantFrom('remove', 'insert', 'replace'), fc.nat()), {
      minLength: 1,
      maxLength: 3,
    }),
  )
  .map(([text, mutations]) => {
    let mutated = text;
    for (const [where, what, which] of mutations) {
      const at = where % (mutated.length + 1);
      const added = what === 'remove' ? '' : HOSTILE.charAt(which % HOSTILE.length);
      mutated = mutated.slice(0, at) + added + mutated.slice(what === 'insert' ? at : at + 1);
    }
    return mutated;
  });

const HOSTILE = '{}[],:"\\0123456789-+.eEtrufalsn \t\n\r\u0000\u001f\u007f\u00a0\u2028\ufeff/\'';
