/** JSON numbers compared and printed by their digits: a double has no room for all of them. */

const NUMBER = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;
/** More digits than this are not written out: `1e999999999` is a short text with a very long meaning. */
const MAX_DIGITS = 64;
const ZERO = 0x30;

interface Decimal {
  readonly negative: boolean;
  /** Digits without zeros at either end; empty for zero. */
  readonly digits: string;
  /** Power of ten of the last digit. */
  readonly exponent: number;
}

function parse(text: string): Decimal | undefined {
  const match = NUMBER.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', power = '0'] = match;
  const all = whole + fraction;
  // Loops, because a pattern for zeros at the end takes quadratic time on a long run of zeros further in.
  let from = 0;
  let to = all.length;
  while (from < to && all.charCodeAt(from) === ZERO) from++;
  while (to > from && all.charCodeAt(to - 1) === ZERO) to--;
  if (from === to) return { negative: false, digits: '', exponent: 0 };
  const exponent = Number(power) - fraction.length + (all.length - to);
  if (!Number.isSafeInteger(exponent)) return undefined;
  return { negative: sign === '-', digits: all.slice(from, to), exponent };
}

/** Whether two texts are JSON numbers of the same value: `42.0`, `42` and `4.2e1` are. Giant exponents never are. */
export function sameNumber(a: string, b: string): boolean {
  const x = parse(a);
  const y = parse(b);
  if (x === undefined || y === undefined) return false;
  return x.negative === y.negative && x.digits === y.digits && x.exponent === y.exponent;
}

/** The plain decimal digits of an integer: `42.0` and `4.2e1` give `42`. Undefined for fractions and giants. */
export function exactInteger(text: string): string | undefined {
  const decimal = parse(text);
  if (decimal === undefined || decimal.exponent < 0) return undefined;
  if (decimal.digits === '') return '0';
  if (decimal.exponent + decimal.digits.length > MAX_DIGITS) return undefined;
  return (decimal.negative ? '-' : '') + decimal.digits + '0'.repeat(decimal.exponent);
}
