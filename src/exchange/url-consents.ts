import { randomUUID } from 'node:crypto';
import { memberOf, scanInnerObject, stringValue } from '../jsonrpc/json-scan.js';
import { type Message, parseMessage } from '../jsonrpc/message.js';
import { printNotification } from '../jsonrpc/print.js';
import { elicitedUrl, withElicitationId } from '../translation/question.js';
import type { Answer, Question } from './question.js';

interface Consent {
  readonly elicitationId: string;
  accepted: boolean;
}

/**
 * The URLs a client was asked to open during one call (X18). Accepting means consent, not completion: a modern server
 * learns of completion by asking again, so the same URL asked again is accepted again without bothering anybody, and
 * once it is no longer asked the legacy client is told that it is complete.
 * @see /specification/2025-11-25/client/elicitation#url-mode-elicitation-requests
 */
export class UrlConsents {
  private readonly consents = new Map<string, Consent>();

  /** Which questions must be put to the client, and answers to those it has consented to already. */
  split(questions: readonly Question[]): { fresh: readonly Question[]; repeated: readonly Answer[] } {
    const fresh: Question[] = [];
    const repeated: Answer[] = [];
    for (const question of questions) {
      const url = elicitedUrl(question.method, question.params);
      if (url !== undefined && this.consents.get(url)?.accepted === true) {
        repeated.push({ kind: 'result', key: question.key, result: '{"action":"accept"}' });
      } else {
        fresh.push(question);
      }
    }
    return { fresh, repeated };
  }

  /** A URL question as a legacy client needs it: with an id. */
  prepare(question: Question): Question {
    const url = elicitedUrl(question.method, question.params);
    if (url === undefined || question.params === undefined) return question;
    let consent = this.consents.get(url);
    if (consent === undefined) {
      consent = { elicitationId: randomUUID(), accepted: false };
      this.consents.set(url, consent);
    }
    return { ...question, params: withElicitationId(question.params, consent.elicitationId) };
  }

  /** Takes note of the client's answer. */
  note(question: Question, answer: Answer): void {
    const url = elicitedUrl(question.method, question.params);
    if (url === undefined || answer.kind !== 'result') return;
    const action = stringValue(answer.result, memberOf(scanInnerObject(answer.result, 0), 'action'));
    const consent = this.consents.get(url);
    if (action === 'accept' && consent !== undefined) consent.accepted = true;
    else this.consents.delete(url);
  }

  /** Completion notices for the URLs that were accepted and are asked no more. */
  completed(questions: readonly Question[]): Message[] {
    const asked = new Set(questions.map(({ method, params }) => elicitedUrl(method, params)));
    const notices: Message[] = [];
    for (const [url, { accepted, elicitationId }] of this.consents) {
      if (asked.has(url)) continue;
      this.consents.delete(url);
      if (!accepted) continue;
      const params = JSON.stringify({ elicitationId });
      notices.push(
        parseMessage(printNotification('notifications/elicitation/complete', params), { maxDepth: 8 }),
      );
    }
    return notices;
  }
}
