import type { EventSink } from '../../../src/http/port.js';

/** A connection that takes everything and remembers it. */
export class RecordingSink implements EventSink {
  open = true;
  readonly bufferedBytes = 0;
  text = '';
  private readonly listeners: (() => void)[] = [];

  send(block: string): boolean {
    if (this.open) this.text += block;
    return true;
  }

  onDrain(listener: () => void): void {
    queueMicrotask(listener);
  }

  onClose(listener: () => void): void {
    this.listeners.push(listener);
  }

  end(): void {
    if (!this.open) return;
    this.open = false;
    for (const listener of this.listeners) listener();
  }

  destroy(): void {
    this.end();
  }

  /** The events that carry a message, as `[id, data]`. */
  get events(): [string, string][] {
    return this.text.split('\n\n').flatMap((block): [string, string][] => {
      const data = /^data: (.+)$/m.exec(block)?.[1];
      return data === undefined ? [] : [[/^id: (.*)$/m.exec(block)?.[1] ?? '', data]];
    });
  }

  get data(): string[] {
    return this.events.map(([, data]) => data);
  }

  /** The last id sent, a priming event's included. */
  get lastId(): string {
    return [...this.text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? '';
  }
}
