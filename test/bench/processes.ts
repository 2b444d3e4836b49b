import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A process of the benchmark: takes one command at a time. */
export class BenchProcess {
  private constructor(private readonly child: ChildProcess) {}

  /** @param execArgv flags for node, such as `--cpu-prof` */
  static async start(file: string, execArgv: readonly string[] = []): Promise<BenchProcess> {
    const path = fileURLToPath(new URL(file, import.meta.url));
    const child = fork(path, { execArgv: [...execArgv], stdio: ['ignore', 'inherit', 'ignore', 'ipc'] });
    const started = new BenchProcess(child);
    await started.reply();
    return started;
  }

  async ask<T>(command: string, argument?: unknown): Promise<T> {
    const reply = this.reply();
    this.child.send({ command, argument });
    return (await reply) as T;
  }

  /** CPU time of user and system so far, in microseconds. */
  async cpu(): Promise<number> {
    const { user, system } = await this.ask<{ user: number; system: number }>('cpu');
    return user + system;
  }

  async stop(): Promise<void> {
    const gone = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.send({ command: 'stop' });
    await gone;
  }

  private reply(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null): void =>
        reject(new Error(`a process of the benchmark ended (${code})`));
      this.child.once('exit', onExit);
      this.child.once('message', (message: { reply?: unknown; failure?: string }) => {
        this.child.off('exit', onExit);
        if (message.failure !== undefined) reject(new Error(message.failure));
        else resolve(message.reply);
      });
    });
  }
}
