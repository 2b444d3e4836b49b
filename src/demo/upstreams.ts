import type { RunningDemo } from './http.js';

/** One demo server of each era, by its URL. */
export interface DemoUpstreams {
  readonly legacy: string;
  readonly modern: string;
  close(): Promise<void>;
}

/** Starts both; when one cannot start the other is closed again. */
export async function startBoth(start: {
  readonly legacy: () => Promise<RunningDemo>;
  readonly modern: () => Promise<RunningDemo>;
}): Promise<DemoUpstreams> {
  const legacy = await start.legacy();
  const modern = await start.modern().catch(async (error: unknown) => {
    await legacy.close();
    throw error;
  });
  return {
    legacy: legacy.url,
    modern: modern.url,
    close: async () => {
      await Promise.all([legacy.close(), modern.close()]);
    },
  };
}
