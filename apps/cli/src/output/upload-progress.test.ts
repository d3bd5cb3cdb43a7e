import { expect, it } from 'vitest';
import { UploadProgress } from './upload-progress.js';

function shown(isTTY: boolean): string {
  let text = '';
  const progress = new UploadProgress({
    isTTY,
    columns: 80,
    write: (more: string | Uint8Array) => !!(text += String(more)),
  });
  progress.show('Packing', 1, 3);
  progress.show('Sending', 10, 20);
  progress.show('Sending', 20, 20);
  progress.end('Uploaded 3 files.');
  return text;
}

it('shows the progress of an upload in one line of a terminal, and only its end elsewhere', () => {
  const up = '\u001b[1A\r\u001b[J';
  expect(shown(true).split(up)).toEqual([
    'Packing 33 %\n',
    'Sending 50 %\n',
    'Unpacking on the platform\n',
    'Uploaded 3 files.\n',
  ]);
  expect(shown(false)).toBe('Uploaded 3 files.\n');
});
