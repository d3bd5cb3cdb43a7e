import type { UpFlags } from '../program.js';

export async function runDoctor(_flags: UpFlags, _host: NodeJS.Process): Promise<void> {}
