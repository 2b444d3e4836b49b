import { describe, expect, it } from 'vitest';
import {
  progressTokenOf,
  progressValue,
  requestedProgressToken,
  retokenProgress,
  retokenRequest,
} from '../../../src/translation/progress.js';
import { edited, editedParams, notificationMessage, requestMessage } from './wire.js';

const note = (params: string) => notificationMessage('notifications/progress', params);

describe('progress', () => {
  it('X22 keeps tokens with their own type', () => {
    for (const token of ['0', '"0"', '1', '9007199254740993', '"\\u0061"']) {
      expect(progressTokenOf(note(`{"progressToken":${token}}`))).toBe(token);
      expect(requestedProgressToken(requestMessage('m', `{"_meta":{"progressToken":${token}}}`))).toBe(token);
    }
    for (const token of ['null', 'true', '{}', '[]']) {
      expect(progressTokenOf(note(`{"progressToken":${token}}`))).toBeUndefined();
    }
    expect(requestedProgressToken(requestMessage('m'))).toBeUndefined();
  });

  it('X22 replaces the token and nothing else', () => {
    const params = ' { "progress" : 1.10 , "progressToken" : 7 ,"message":"\\u00e9" } ';
    expect(edited(note(params), (m, d) => retokenProgress(m, d, '"0"'))).toBe(
      note(params).text.replace(': 7', ': "0"'),
    );
  });

  it('X22 asks upstream for progress only when the client did', () => {
    expect(editedParams('{"_meta":{"progressToken":0}}', (m, d) => retokenRequest(m, d, '5'))).toBe(
      '{"_meta":{"progressToken":5}}',
    );
    expect(editedParams('{"_meta":{}}', (m, d) => retokenRequest(m, d, '5'))).toBe('{"_meta":{}}');
  });

  it('X22 reads how far it is', () => {
    expect(progressValue(note('{"progress":0.5}'))).toBe(0.5);
    expect(progressValue(note('{"progress":0}'))).toBe(0);
    expect(progressValue(note('{"progress":"1"}'))).toBeUndefined();
    expect(progressValue(note('{}'))).toBeUndefined();
  });
});
