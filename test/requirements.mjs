/**
 * What the tests need besides npm packages: a real redis-server, because several instances are tested on one. It is
 * installed where that can be done without asking; elsewhere the tests do not start, because passing without it would
 * prove nothing.
 */
import { spawnSync } from 'node:child_process';
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
