/** One thing that is wrong with the configuration, in words for the person who wrote it. */
export interface ConfigProblem {
  /** Where the value stands, such as `limits.bodyBytes`, `--listen` or a file name. */
  at: string;
  /** What was expected and what was found, never the value itself. */
  message: string;
}

/** The configuration cannot be used. `message` holds every problem, one on a line, and no secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(problems.map((problem) => `${problem.at}: ${problem.message}`).join('\n'));
    this.problems = problems;
  }
}
