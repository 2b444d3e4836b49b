#!/usr/bin/env node
import { unsupportedNode } from './node-version.js';

// Everything else is imported later: on an old Node the import itself would fail, with a worse message.
const complaint = unsupportedNode(process.versions.node);
if (complaint === undefined) {
  const { run } = await import('./program.js');
  const { firstStopSignal } = await import('./stop-signal.js');
  // A closed pipe (`… | head`) is the reader's choice, not an error.
  process.stdout.on('error', () => undefined);
  process.exitCode = await run(process.argv.slice(2), {
    environment: process.env,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    loadGateway: () => import('../gateway.js'),
    stopRequested: firstStopSignal,
  });
  // Whatever still holds the loop open after the work is done shall not keep the process.
  setTimeout(() => process.exit(), 1000).unref();
} else {
  process.stderr.write(`${complaint}\n`);
  process.exitCode = 1;
}
