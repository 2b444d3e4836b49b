import { now } from '../../../src/clock/clock.js';
import type { GatewayError } from '../../../src/errors/gateway-error.js';
import type { Answer, Question } from '../../../src/exchange/question.js';
import { answerProblem, missingCapability } from '../../../src/translation/question.js';

interface OpenQuestion {
  readonly question: Question;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: GatewayError) => void;
}

/** The questions of one exchange that wait for answers, each under the key the client sees. */
export class OpenQuestions {
  private readonly open = new Map<string, OpenQuestion>();
  private last = 0;

  get size(): number {
    return this.open.size;
  }

  /** What the questions hold, about, in bytes. */
  get bytes(): number {
    let bytes = 0;
    for (const { question } of this.open.values()) bytes += question.params?.length ?? 0;
    return bytes;
  }

  /** When the question was asked that has waited longest, in milliseconds since the epoch; now when there is none. */
  get oldestAt(): number {
    const [first] = this.open.values();
    return first?.askedAt ?? now();
  }

  /** Adds a question. `withdraw` takes it back with an error, unless it was answered before. */
  add(question: Question): { answer: Promise<Answer>; withdraw: (error: GatewayError) => void } {
    this.last++;
    const key = `q${this.last}`;
    let reject: (error: GatewayError) => void = () => undefined;
    const answer = new Promise<Answer>((resolve, rejectAnswer) => {
      reject = rejectAnswer;
      this.open.set(key, { question, askedAt: now(), resolve, reject: rejectAnswer });
    });
    return {
      answer,
      withdraw: (error) => {
        if (this.open.delete(key)) reject(error);
      },
    };
  }

  /** The `inputRequests` of an InputRequiredResult, as JSON text. */
  print(): string {
    const entries = [...this.open].map(([key, { question }]) => {
      const params = question.params === undefined ? '' : `,"params":${question.params}`;
      return `${JSON.stringify(key)}:{"method":${JSON.stringify(question.method)}${params}}`;
    });
    return `{${entries.join(',')}}`;
  }

  /** What is wrong with a set of answers; undefined when nothing is. Answers nobody asked for are ignored. */
  problem(answers: ReadonlyMap<string, string>): string | undefined {
    for (const [key, { question }] of this.open) {
      const answer = answers.get(key);
      const problem = answer === undefined ? undefined : answerProblem(question.method, answer);
      if (problem !== undefined) return `inputResponses[${JSON.stringify(key)}] ${problem}`;
    }
    return undefined;
  }

  /**
   * The capability, as JSON text, that a client lacks to be asked again what these answers leave open; undefined when
   * it lacks none.
   */
  missingToAskAgain(capabilities: string, answers: ReadonlyMap<string, string>): string | undefined {
    for (const [key, { question }] of this.open) {
      if (answers.has(key)) continue;
      const missing = missingCapability(capabilities, question.method, question.params);
      if (missing !== undefined) return missing;
    }
    return undefined;
  }

  /** Hands out the answers. What has none stays open, to be asked again. */
  take(answers: ReadonlyMap<string, string>): void {
    for (const [key, { question, resolve }] of [...this.open]) {
      const result = answers.get(key);
      if (result === undefined) continue;
      this.open.delete(key);
      resolve({ kind: 'result', key: question.key, result });
    }
  }

  rejectAll(error: GatewayError): void {
    for (const [key, { reject }] of [...this.open]) {
      this.open.delete(key);
      reject(error);
    }
  }
}
