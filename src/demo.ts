export function startDemoUpstreams(): Promise<{ legacy: string; modern: string; close(): Promise<void> }> {
  return Promise.reject(new Error('wip'));
}
