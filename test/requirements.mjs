/**
 * What the tests need besides what `npm ci` brings: a real redis-server, because several instances are tested on one, and
 * the optional package of the SQLite store. They are installed where that can be done without asking; elsewhere the tests
 * do not start, because passing without them would prove nothing.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { getuid } from 'node:process';

function works(command, ...args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

function run(command, ...args) {
  console.log(`> ${command} ${args.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'], env }).status === 0;
}

if (!works('redis-server', '--version')) {
  const mayInstall = getuid?.() === 0 && works('apt-get', '--version');
  if (mayInstall && run('apt-get', 'update', '-qq')) {
    // Not started as a service: every test that needs a server starts one of its own.
    run('apt-get', 'install', '-y', '-qq', '--no-install-recommends', 'redis-server');
  }
  if (!works('redis-server', '--version')) {
    console.error(
      'The tests need the program redis-server (6.2 or newer) on the PATH.\n' +
        '  Debian, Ubuntu: sudo apt-get install redis-server\n' +
        '  macOS:          brew install redis',
    );
    process.exit(1);
  }
}

/** In a process of its own: this one would remember that the package was not there. */
function hasSqlite() {
  return works(process.execPath, '--eval', "new (require('better-sqlite3'))(':memory:').close()");
}

if (!hasSqlite()) {
  const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  const wanted = `better-sqlite3@${peerDependencies['better-sqlite3']}`;
  console.log(
    'The tests of the SQLite store need better-sqlite3. Where it has to be compiled this takes minutes, once.',
  );
  // Without a place to save it to, npm takes an optional peer for settled and installs nothing.
  run('npm', 'install', '--no-save', '--save-dev', '--no-audit', '--no-fund', wanted);
  if (!hasSqlite()) {
    console.error(`The tests need the package ${wanted}, which could not be installed; npm says why above.`);
    process.exit(1);
  }
}
