/** The part of the optional dependency that is used; the package itself carries no types. */
declare module 'better-sqlite3' {
  export interface Statement {
    run(...values: unknown[]): unknown;
    get(...values: unknown[]): unknown;
    all(...values: unknown[]): unknown[];
  }

  export interface Connection {
    pragma(text: string, options?: { simple?: boolean }): unknown;
    prepare(text: string): Statement;
    exec(text: string): void;
    close(): void;
  }

  const Database: new (path: string, options?: { timeout?: number }) => Connection;
  export default Database;
}
