import { type ObjectScan, type Span, memberOf } from './json-scan.js';

interface Edit extends Span {
  readonly text: string;
}

/** New values of members by name; `undefined` stands for removal. */
type ObjectChange = Map<string, string | undefined>;

/**
 * A text with pending edits. Everything that is not edited is printed byte for byte as it came.
 *
 * Translation steps may edit in any order: of several edits of one member the last one counts. Edits that cut
 * into each other in any other way are a programming error and throw when the text is printed.
 */
export class Draft {
  private readonly edits: Edit[] = [];
  private readonly changes = new Map<ObjectScan, ObjectChange>();
  private readonly prunes: { readonly object: ObjectScan; readonly key: string }[] = [];

  constructor(readonly text: string) {}

  /** Replaces a span of the original text. */
  replace(span: Span, text: string): void {
    this.edits.push({ start: span.start, end: span.end, text });
  }

  /** Sets a member to a value given as JSON text, replacing the value or appending the member. */
  set(object: ObjectScan, key: string, value: string): void {
    this.changeOf(object).set(key, value);
  }

  /** Removes a member; no effect when the object has none of that name. */
  remove(object: ObjectScan, key: string): void {
    this.changeOf(object).set(key, undefined);
  }

  /** Removes a member whose value was a scanned object with members, if all edits together leave it empty. */
  prune(object: ObjectScan, key: string): void {
    this.prunes.push({ object, key });
  }

  /** Removes elements of an array, given the spans of all of them. */
  removeElements(elements: readonly Span[], removed: ReadonlySet<number>): void {
    const gone = (i: number): boolean => removed.has(i);
    this.edits.push(...removals(elements, gone));
    const first = elements[lastKept(elements, gone) + 1];
    const last = elements.at(-1);
    if (first === undefined || last === undefined) return;
    const start = elements[lastKept(elements, gone)]?.end ?? first.start;
    this.edits.push({ start, end: last.end, text: '' });
  }

  /** The edited text. */
  print(): string {
    for (const { object, key } of this.prunes) this.pruneNow(object, key);
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

  private pruneNow(object: ObjectScan, key: string): void {
    const inner = memberOf(object, key)?.object;
    const change = inner && this.changes.get(inner);
    if (inner === undefined || change === undefined || inner.members.length === 0) return;
    const emptied = inner.members.every((member) => change.has(member.key));
    if (!emptied || [...change.values()].some((value) => value !== undefined)) return;
    this.changes.delete(inner);
    const outer = this.changeOf(object);
    if (!outer.has(key)) outer.set(key, undefined);
  }

  private changeOf(object: ObjectScan): ObjectChange {
    let change = this.changes.get(object);
    if (change === undefined) {
      change = new Map();
      this.changes.set(object, change);
    }
    return change;
  }
}

/** Turns the changes of one object into edits that leave exactly the right commas. */
function objectEdits(object: ObjectScan, change: ObjectChange): Edit[] {
  const { members } = object;
  // Of repeated members the last one counts for readers: it takes the new value and the others go.
  const positions = new Map(members.map((member, i) => [member.key, i]));
  const gone = (i: number): boolean => {
    const key = members[i]?.key ?? '';
    return change.has(key) && (change.get(key) === undefined || positions.get(key) !== i);
  };
  const items = members.map((member) => ({ start: member.keyStart, end: member.end }));
  const edits = removals(items, gone);
  members.forEach((member, i) => {
    const text = change.get(member.key);
    if (text !== undefined && !gone(i)) edits.push({ start: member.start, end: member.end, text });
  });
  // Everything behind the last kept member goes at once, and additions take its place.
  const last = lastKept(items, gone);
  const tailStart = items[last]?.end ?? object.start + 1;
  const tailEnd = items.at(-1)?.end ?? tailStart;
  const added: string[] = [];
  for (const [key, value] of change) {
    if (value !== undefined && !positions.has(key)) added.push(`${JSON.stringify(key)}:${value}`);
  }
  const text = (added.length > 0 && last >= 0 ? ',' : '') + added.join(',');
  if (text !== '' || tailEnd > tailStart) edits.push({ start: tailStart, end: tailEnd, text });
  return edits;
}

function lastKept(items: readonly Span[], gone: (i: number) => boolean): number {
  return items.findLastIndex((_, i) => !gone(i));
}

/** Edits that remove items with the comma behind them, as long as another item is kept further on. */
function removals(items: readonly Span[], gone: (i: number) => boolean): Edit[] {
  const edits: Edit[] = [];
  const last = lastKept(items, gone);
  for (let i = 0; i < last; i++) {
    const item = items[i];
    const next = items[i + 1];
    if (item && next && gone(i)) edits.push({ start: item.start, end: next.start, text: '' });
  }
  return edits;
}
