import type { JsonObject } from './catalogue/fixture-tool.js';

/** How a test client answers the server's questions; the same handlers serve clients of both eras. */
export interface QuestionHandlers {
  /** Answers an elicitation with an ElicitResult. */
  readonly onElicit?: (params: any) => JsonObject | Promise<JsonObject>;
  /** Answers sampling with a CreateMessageResult. */
  readonly onSample?: (params: any) => JsonObject | Promise<JsonObject>;
  /** Answers `roots/list`. */
  readonly onRoots?: () => JsonObject | Promise<JsonObject>;
}

/** What a test client does by itself: answer questions, and say what it hears. */
export interface ClientHandlers extends QuestionHandlers {
  /** Called for each log message, change and elicitation completion, behind its entry in `notifications`. */
  readonly onNotification?: (notification: SeenNotification) => void;
}

/** A notification as a client's handler received it. */
export interface SeenNotification {
  readonly method: string;
  readonly params: any;
}

/** Handlers that accept everything with fixed answers: `{ name: 'Ada' }`, `hi` and one root. */
export const agreeable: Required<QuestionHandlers> = {
  onElicit: (params) =>
    params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { name: 'Ada' } },
  onSample: () => ({ role: 'assistant', model: 'test-model', content: { type: 'text', text: 'hi' } }),
  onRoots: () => ({ roots: [{ uri: 'file:///root', name: 'Root' }] }),
};
