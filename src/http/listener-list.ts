/** Those to call back at an event that comes once: mostly one, of which thousands of streams have one each. */
export type ListenerList = (() => void) | readonly (() => void)[] | undefined;

/** The list with one more at its end. */
export function withListener(list: ListenerList, listener: () => void): ListenerList {
  if (list === undefined) return listener;
  return typeof list === 'function' ? [list, listener] : [...list, listener];
}

/** Calls all of them, in the order in which they came. */
export function callAll(list: ListenerList): void {
  if (typeof list === 'function') list();
  else if (list !== undefined) for (const listener of list) listener();
}
