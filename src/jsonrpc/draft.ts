import { type ObjectScan, memberOf } from './json-scan.js';

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

interface ObjectChange {
  readonly removed: Set<string>;
  readonly added: Map<string, string>;
}

/**
 * A text with pending edits. Everything that is not edited is printed byte for byte as it came.
 *
 * Edits to different places may be made in any order by different translation steps; two edits of the same
 * place are a programming error and throw.
 */
export class Draft {
  private readonly edits: Edit[] = [];
  private readonly changes = new Map<ObjectScan, ObjectChange>();

  constructor(readonly text: string) {}

  /** Replaces a span of the original text. */
  replace(span: { start: number; end: number }, text: string): void {
    this.edits.push({ start: span.start, end: span.end, text });
  }

  /** Sets a member to a value given as JSON text, replacing the value or appending the member. */
  set(object: ObjectScan, key: string, value: string): void {
    const member = memberOf(object, key);
    if (member === undefined) this.changeOf(object).added.set(key, value);
    else this.replace(member, value);
  }

  /** Removes a member; no effect when the object has none of that name. */
  remove(object: ObjectScan, key: string): void {
    if (memberOf(object, key) !== undefined) this.changeOf(object).removed.add(key);
  }

  /** The edited text. */
  print(): string {
    const edits = [...this.edits];
    for (const [object, change] of this.changes) edits.push(...objectEdits(object, change));
    if (edits.length === 0) return this.text;
    edits.sort((a, b) => a.start - b.start || a.end - b.end);
    let printed = '';
    let at = 0;
    for (const edit of edits) {
      if (edit.start < at) throw new Error('two edits of one place in a message');
      printed += this.text.slice(at, edit.start) + edit.text;
      at = edit.end;
    }
    return printed + this.text.slice(at);
  }

  private changeOf(object: ObjectScan): ObjectChange {
    let change = this.changes.get(object);
    if (change === undefined) {
      change = { removed: new Set(), added: new Map() };
      this.changes.set(object, change);
    }
    return change;
  }
}

/** Turns removals and additions of one object into edits that leave exactly the right commas. */
function objectEdits(object: ObjectScan, change: ObjectChange): Edit[] {
  const { members } = object;
  const edits: Edit[] = [];
  let lastKept = -1;
  members.forEach((member, i) => {
    if (!change.removed.has(member.key)) lastKept = i;
  });
  for (let i = 0; i < lastKept; i++) {
    const member = members[i];
    const next = members[i + 1];
    if (member && next && change.removed.has(member.key)) {
      edits.push({ start: member.keyStart, end: next.keyStart, text: '' });
    }
  }
  // Everything behind the last kept member goes at once, and additions take its place.
  const tailStart = members[lastKept]?.end ?? object.start + 1;
  const tailEnd = members.at(-1)?.end ?? tailStart;
  const added = [...change.added].map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',');
  const text = added !== '' && lastKept >= 0 ? `,${added}` : added;
  if (text !== '' || tailEnd > tailStart) edits.push({ start: tailStart, end: tailEnd, text });
  return edits;
}
