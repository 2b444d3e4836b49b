import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root; commands are given relative to it, since the suite splits them at spaces. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const SUITE = 'node_modules/@modelcontextprotocol/conformance/dist/index.js';
const HOOK = './test/conformance/suite-hook.mjs';

/** Per scenario, in milliseconds: a hang is a failure. A passing scenario takes at most about 4 s. */
const SERVER_SCENARIO_MS = 10_000;
const CLIENT_SCENARIO_MS = 10_000;
/** Added before the suite's process itself is given up, for its start and for clients that do not die. */
const GRACE_MS = 5_000;

export interface ScenarioResult {
  readonly scenario: string;
  readonly passed: boolean;
  /** Why not: failing and warning checks, or what became of the process. Empty when passed. */
  readonly problems: readonly string[];
  /** Checks the suite skipped: a pass with skips says less than one without. */
  readonly skipped: number;
}

export type Side = 'server' | 'client';

/** The names of the suite's scenarios that apply to a revision, without authorization and extensions. */
export async function listScenarios(side: Side, revision: string): Promise<string[]> {
  const { output } = await runSuite(['list', `--${side}`, '--spec-version', revision], 30_000);
  const names = [...output.matchAll(/^ {2}- (\S+)/gm)].map((match) => match[1] ?? '');
  const wanted = names.filter((name) => !name.startsWith('auth/'));
  if (wanted.length === 0)
    throw new Error(`The suite listed no ${side} scenarios for ${revision}:\n${output}`);
  return wanted;
}

/**
 * Runs server scenarios against a URL, one after the other in one process of the suite (starting it takes longer
 * than most scenarios). With `only`, that scenario alone.
 */
export async function runServerScenarios(
  url: string,
  revision: string,
  scenarios: readonly string[],
  deadline: number,
  only?: string,
): Promise<ScenarioResult[]> {
  const wanted = only === undefined ? scenarios : [only];
  return inOutputFolder(async (folder) => {
    const selection = only === undefined ? ['--suite', 'all'] : ['--scenario', only];
    const args = ['server', '--url', url, ...selection, '--spec-version', revision, '-o', folder];
    args.push('--timeout', String(SERVER_SCENARIO_MS));
    const budget = Math.min(wanted.length * SERVER_SCENARIO_MS + GRACE_MS, deadline - Date.now());
    const { output, killed } = await runSuite(args, budget);
    const folders = await readdir(folder);
    return Promise.all(
      wanted.map(async (scenario) => {
        const name = folders.find((candidate) => isResultOf(candidate, `server-${scenario}`));
        const checks = name === undefined ? undefined : await readChecks(join(folder, name));
        if (checks) return judge(scenario, checks);
        return broken(scenario, killed ? 'not finished in time' : failureIn(output, scenario));
      }),
    );
  });
}

/** Runs one client scenario: the suite starts its mock server and our command with the mock's URL appended. */
export async function runClientScenario(
  command: string,
  revision: string,
  scenario: string,
  deadline: number,
): Promise<ScenarioResult> {
  return inOutputFolder(async (folder) => {
    const args = [
      'client',
      '--command',
      `exec ${command}`,
      '--scenario',
      scenario,
      '--spec-version',
      revision,
    ];
    args.push('-o', folder, '--timeout', String(CLIENT_SCENARIO_MS));
    const budget = Math.min(CLIENT_SCENARIO_MS + GRACE_MS, deadline - Date.now());
    const { output, killed, exitCode } = await runSuite(args, budget);
    const name = (await readdir(folder))[0] ?? '';
    const checks = await readChecks(join(folder, name));
    if (!checks) return broken(scenario, killed ? 'not finished in time' : failureIn(output, scenario));
    const result = judge(scenario, checks);
    if (exitCode === 0 || !result.passed) return result;
    return broken(scenario, await clientErrorIn(join(folder, name)));
  });
}

interface SuiteRun {
  readonly output: string;
  readonly exitCode: number | null;
  readonly killed: boolean;
}

async function runSuite(args: string[], budgetMs: number): Promise<SuiteRun> {
  if (budgetMs <= 0) return { output: '', exitCode: null, killed: true };
  // Its own process group, so that giving up also ends the clients it started.
  const child = spawn(process.execPath, ['--import', HOOK, SUITE, ...args], { cwd: ROOT, detached: true });
  let output = '';
  let killed = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => (output += text));
  }
  const timer = setTimeout(() => {
    killed = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, budgetMs);
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  clearTimeout(timer);
  return { output, exitCode, killed };
}

async function inOutputFolder<T>(run: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  try {
    return await run(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The suite names a result folder after the scenario and the time. */
function isResultOf(folder: string, prefix: string): boolean {
  return folder.startsWith(`${prefix}-`) && /^\d{4}-\d\d-\d\dT/.test(folder.slice(prefix.length + 1));
}

/** `undefined` when the suite ended before it had written them: it makes the folder first. */
async function readChecks(folder: string): Promise<any[] | undefined> {
  const text = await readFile(join(folder, 'checks.json'), 'utf8').catch(() => '');
  return text === '' ? undefined : (JSON.parse(text) as any[]);
}

/**
 * A warning counts as a failure on the server side too, where the suite itself only reports it: both fixtures pass
 * without one, so a warning behind the gateway is something the gateway lost.
 */
function judge(scenario: string, checks: any[]): ScenarioResult {
  const bad = checks.filter((check) => check.status === 'FAILURE' || check.status === 'WARNING');
  const problems = bad.map((check) => oneLine(`${check.id}: ${check.errorMessage ?? check.description}`));
  const skipped = checks.filter((check) => check.status === 'SKIPPED').length;
  if (checks.length === 0) problems.push('the suite made no checks');
  return { scenario, passed: problems.length === 0, problems: [...new Set(problems)], skipped };
}

/** A scenario without checks to look at. */
export function broken(scenario: string, problem: string): ScenarioResult {
  return { scenario, passed: false, problems: [problem], skipped: 0 };
}

/** Messages quote whole responses; a table and a terminal want the beginning. */
function oneLine(text: string): string {
  const line = text.replaceAll(ROOT, '').replace(/\s+/g, ' ').trim();
  return line.length > 500 ? `${line.slice(0, 500)}…` : line;
}

function failureIn(output: string, scenario: string): string {
  const at = output.indexOf(`Failed to run scenario ${scenario}:`);
  return oneLine(at < 0 ? output.slice(-500) : output.slice(at)) || 'the suite said nothing';
}

async function clientErrorIn(folder: string): Promise<string> {
  const stderr = await readFile(join(folder, 'stderr.txt'), 'utf8').catch(() => '');
  const line = stderr.split('\n').find((candidate) => /error|gave up/i.test(candidate));
  return oneLine(`the client failed: ${line ?? 'no error output'}`);
}
