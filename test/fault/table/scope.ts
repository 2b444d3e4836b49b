/** What a scene opened, to be closed when it is over; the last first. */
export class Scope {
  private readonly closers: (() => unknown)[] = [];

  closing<T extends { close(): unknown }>(resource: T): T {
    this.closers.push(() => resource.close());
    return resource;
  }

  async close(): Promise<void> {
    for (const close of this.closers.splice(0).reverse()) await close();
  }
}

const PATIENCE_MS = 15_000;

/** Waits until something holds; false when it does not in time. */
export async function until(holds: () => boolean | Promise<boolean>, ms = PATIENCE_MS): Promise<boolean> {
  const end = performance.now() + ms;
  while (!(await holds())) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}

/** Fails a scene: what should be, and is not. */
export async function must(
  what: string,
  holds: () => boolean | Promise<boolean>,
  ms?: number,
): Promise<void> {
  if (!(await until(holds, ms))) throw new Error(`not in time: ${what}`);
}
