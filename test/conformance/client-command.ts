import { pathToFileURL } from 'node:url';
import type { JsonObject } from '../peers/catalogue/fixture-tool.js';
import { agreeable } from '../peers/question-handlers.js';
import type { QuestionHandlers } from '../peers/question-handlers.js';
import { answerElicitation, clientScenarios } from './client-scenarios.js';
import type { ScenarioClient, ScenarioRun } from './client-scenarios.js';

export type ConnectScenarioClient = (
  url: string,
  handlers: QuestionHandlers,
) => Promise<{ client: ScenarioClient; close(): Promise<void> }>;

/** A client that hangs must end by itself: the suite kills the shell around it and then waits for its output. */
const GIVE_UP_MS = 8_000;

/**
 * Plays the scenario that the suite named in the environment, with a client of one era, against a URL.
 *
 * @throws when the scenario is unknown or a step of it fails
 */
export async function playScenario(url: string, connect: ConnectScenarioClient): Promise<void> {
  const name = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
  const scenario = clientScenarios[name];
  if (!scenario) throw new Error(`No client behaviour for scenario '${name}'`);
  const onElicit = (): Promise<JsonObject> => answerElicitation(run);
  const connection = await connect(url, { ...agreeable, onElicit });
  const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? 'null');
  const run: ScenarioRun = { client: connection.client, context, onElicit: undefined };
  await scenario(run);
  await connection.close();
}

/** Runs `main` with the URL the suite appends to the command, and ends the process with its outcome. */
export function runAsCommand(main: (url: string, args: string[]) => Promise<void>): void {
  const args = process.argv.slice(2);
  const url = args.pop() ?? '';
  setTimeout(() => {
    console.error(`The client gave up after ${GIVE_UP_MS} ms`);
    process.exit(1);
  }, GIVE_UP_MS);
  main(url, args).then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
}

/** Whether a module is what `node` was started with. */
export function isCommand(moduleUrl: string): boolean {
  return moduleUrl === pathToFileURL(process.argv[1] ?? '').href;
}
