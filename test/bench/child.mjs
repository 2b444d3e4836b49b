/** What the process holds when nothing is left to collect; needs `--expose-gc` to be that. */
function memory() {
  for (let i = 0; i < 4; i++) globalThis.gc?.();
  return process.memoryUsage();
}

/**
 * The parent's side of the conversation is in `processes.ts`: one command at a time, one reply each.
 * @param {Record<string, (argument: any) => unknown>} commands
 */
export function obey(commands) {
  process.on('message', async ({ command, argument }) => {
    try {
      const all = { cpu: () => process.cpuUsage(), memory, stop: () => process.disconnect(), ...commands };
      process.send?.({ reply: await all[command](argument) });
    } catch (error) {
      process.send?.({ failure: String(error?.stack ?? error) });
    }
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.({ reply: 'ready' });
}
