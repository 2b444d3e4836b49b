/**
 * A validating JSON scanner that records where things stand instead of building a tree: the whole text is checked against
 * RFC 8259 once, and the members of the objects of interest are noted.
 */

/** A part of a text: from `start` up to, but not including, `end`; UTF-16 offsets. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One member of a scanned object. `start`/`end` delimit the value, `keyStart` the opening quote of the key. */
export interface Member {
  readonly key: string;
  readonly keyStart: number;
  readonly start: number;
  readonly end: number;
  /** The value's own members, when the interest asked for them and the value is an object. */
  readonly object?: ObjectScan;
}

/** An object whose members were recorded; `start` is at `{`, `end` just behind `}`. */
export interface ObjectScan {
  readonly start: number;
  readonly end: number;
  readonly members: readonly Member[];
}

/** Which nested objects to record. Objects that are not named are validated and skipped. */
export interface Interest {
  readonly [key: string]: Interest;
}

/** A text that is not JSON, or JSON outside the limits. `position` is a UTF-16 offset. */
export class JsonScanError extends Error {
  constructor(
    readonly problem: string,
    readonly position: number,
    /** `syntax`: no JSON at all. `refused`: JSON, but too deep, of another type, or with a repeated member. */
    readonly kind: 'syntax' | 'refused' = 'syntax',
  ) {
    super(`${problem} at position ${position}`);
    this.name = 'JsonScanError';
  }
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const HEX4 = /[0-9a-fA-F]{4}/y;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

// eslint-disable-next-line no-control-regex -- exactly what JSON forbids inside strings
const CONTROL = /[\u0000-\u001f]/g;

/** Objects with fewer members are searched without an index of their names. */
const FEW = 12;

/** Strings up to this length are read one character at a time; beyond it the engine's search is faster. */
const SHORT = 32;

/** Reads one text from a position on. */
export class JsonScanner {
  pos: number;
  /** Where the next backslash is, as far as is known; the text's length when there is none. */
  private backslash = -1;
  /** The same for raw control characters. */
  private control = -1;

  constructor(
    private readonly text: string,
    start: number,
    private readonly maxDepth: number,
  ) {
    this.pos = start;
  }

  fail(problem: string, kind?: 'refused'): never {
    throw new JsonScanError(problem, this.pos, kind);
  }

  skipSpace(): void {
    const { text } = this;
    let { pos } = this;
    for (;;) {
      const c = text.charCodeAt(pos);
      if (c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09) pos++;
      else break;
    }
    this.pos = pos;
  }

  /** Skips a string; returns whether it has an escape, so that keys without one need no decoding. */
  skipString(): boolean {
    const { text } = this;
    let pos = this.pos + 1;
    let escaped = false;
    let searchFrom = pos + SHORT;
    for (;;) {
      if (pos >= searchFrom) {
        if (!escaped && this.skipPlain(pos)) return false;
        searchFrom = Number.MAX_SAFE_INTEGER;
      }
      const c = text.charCodeAt(pos);
      if (c === QUOTE) break;
      if (c === BACKSLASH) {
        escaped = true;
        const e = text.charCodeAt(pos + 1);
        if (e === 0x75) {
          HEX4.lastIndex = pos + 2;
          if (!HEX4.test(text)) {
            this.pos = pos;
            this.fail('invalid \\u escape');
          }
          pos += 6;
        } else if (
          e === QUOTE ||
          e === BACKSLASH ||
          e === 0x2f ||
          e === 0x62 ||
          e === 0x66 ||
          e === 0x6e ||
          e === 0x72 ||
          e === 0x74
        ) {
          pos += 2;
        } else {
          this.pos = pos;
          this.fail('invalid escape in a string');
        }
      } else if (c >= 0x20) {
        pos++;
      } else {
        // NaN (end of text) lands here too: every comparison with it is false.
        this.pos = pos;
        this.fail(Number.isNaN(c) ? 'unterminated string' : 'raw control character in a string');
      }
    }
    this.pos = pos + 1;
    return escaped;
  }

  /**
   * Goes to the end of a long string by searching for it, which is several times as fast as reading every character.
   * Returns false when the string has anything else in it that must be looked at.
   */
  private skipPlain(from: number): boolean {
    const { text } = this;
    if (this.control < from) {
      CONTROL.lastIndex = from;
      this.control = CONTROL.test(text) ? CONTROL.lastIndex - 1 : text.length;
    }
    if (this.backslash < from) {
      const found = text.indexOf('\\', from);
      this.backslash = found === -1 ? text.length : found;
    }
    const end = text.indexOf('"', from);
    if (end === -1 || this.backslash < end || this.control < end) return false;
    this.pos = end + 1;
    return true;
  }

  private readKey(): string {
    const start = this.pos;
    if (this.text.charCodeAt(start) !== QUOTE) this.fail('expected a member name');
    const escaped = this.skipString();
    return escaped
      ? (JSON.parse(this.text.slice(start, this.pos)) as string)
      : this.text.slice(start + 1, this.pos - 1);
  }

  private skipLiteral(word: string): void {
    if (!this.text.startsWith(word, this.pos)) this.fail('unexpected token');
    this.pos += word.length;
  }

  private colon(): void {
    this.skipSpace();
    if (this.text.charCodeAt(this.pos) !== COLON) this.fail('expected ":"');
    this.pos++;
    this.skipSpace();
  }

  /**
   * Skips one value. Open containers are kept in a list, not on the call stack, so that the only bound on
   * nesting is `maxDepth` and a hostile text cannot overflow the stack.
   */
  skipValue(depth: number): void {
    const closers: number[] = [];
    for (;;) {
      const c = this.text.charCodeAt(this.pos);
      if (c === OPEN_BRACE || c === OPEN_BRACKET) {
        const closer = c === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
        this.enter(depth + closers.length + 1);
        if (this.text.charCodeAt(this.pos) !== closer) {
          closers.push(closer);
          if (closer === CLOSE_BRACE) this.skipKey();
          continue;
        }
        this.pos++;
      } else {
        this.skipScalar(c);
      }
      let closer = closers.at(-1);
      while (closer !== undefined && this.more(closer)) {
        closers.pop();
        closer = closers.at(-1);
      }
      if (closer === undefined) return;
      if (closer === CLOSE_BRACE) this.skipKey();
    }
  }

  private skipScalar(c: number): void {
    if (c === QUOTE) this.skipString();
    else if (c === 0x74) this.skipLiteral('true');
    else if (c === 0x66) this.skipLiteral('false');
    else if (c === 0x6e) this.skipLiteral('null');
    else {
      NUMBER.lastIndex = this.pos;
      if (!NUMBER.test(this.text)) this.fail(Number.isNaN(c) ? 'unexpected end' : 'unexpected token');
      this.pos = NUMBER.lastIndex;
    }
  }

  private skipKey(): void {
    if (this.text.charCodeAt(this.pos) !== QUOTE) this.fail('expected a member name');
    this.skipString();
    this.colon();
  }

  private enter(depth: number): void {
    if (depth > this.maxDepth) this.fail(`nesting deeper than ${this.maxDepth}`, 'refused');
    this.pos++;
    this.skipSpace();
  }

  elements(depth: number, each: () => void): void {
    this.enter(depth);
    if (this.text.charCodeAt(this.pos) === CLOSE_BRACKET) {
      this.pos++;
      return;
    }
    for (;;) {
      each();
      if (this.more(CLOSE_BRACKET)) return;
    }
  }

  /** Behind a member or element: true at the closing bracket, false behind a comma. */
  private more(close: number): boolean {
    this.skipSpace();
    const c = this.text.charCodeAt(this.pos);
    this.pos++;
    if (c === close) return true;
    if (c !== COMMA) {
      this.pos--;
      this.fail(close === CLOSE_BRACE ? 'expected "," or "}"' : 'expected "," or "]"');
    }
    this.skipSpace();
    return false;
  }

  object(interest: Interest, depth: number, repeats: 'refuse' | 'record'): ObjectScan {
    const start = this.pos;
    const members: Member[] = [];
    this.enter(depth);
    if (this.text.charCodeAt(this.pos) === CLOSE_BRACE) {
      this.pos++;
      return { start, end: this.pos, members };
    }
    // Two members of one name mean that two readers may see two messages (request smuggling).
    // Most objects are small, and looking through a few names costs less than a set of them.
    let seen: Set<string> | undefined;
    for (;;) {
      const keyStart = this.pos;
      const key = this.readKey();
      if (repeats === 'refuse') {
        if (seen === undefined && members.length >= FEW) seen = new Set(members.map((member) => member.key));
        if (seen?.has(key) ?? members.some((member) => member.key === key)) {
          this.pos = keyStart;
          this.fail(`duplicate member ${JSON.stringify(key.slice(0, 80))}`, 'refused');
        }
        seen?.add(key);
      }
      this.colon();
      const valueStart = this.pos;
      const inner = Object.hasOwn(interest, key) ? interest[key] : undefined;
      if (inner !== undefined && this.text.charCodeAt(valueStart) === OPEN_BRACE) {
        const object = this.object(inner, depth + 1, repeats);
        members.push({ key, keyStart, start: valueStart, end: this.pos, object });
      } else {
        this.skipValue(depth);
        members.push({ key, keyStart, start: valueStart, end: this.pos });
      }
      if (this.more(CLOSE_BRACE)) return { start, end: this.pos, members };
    }
  }
}
