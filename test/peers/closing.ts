import { onTestFinished } from 'vitest';

/** Closes the resource when the running test is over; the last one opened goes first. */
export function closing<T extends { close(): unknown }>(resource: T): T {
  onTestFinished(async () => {
    await resource.close();
  });
  return resource;
}
