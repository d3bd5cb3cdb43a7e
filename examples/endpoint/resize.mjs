// An endpoint for a function of mode POOL: one POST per attempt, JSON in, JSON out.
import { createServer } from 'node:http';

const port = Number(process.env.PORT ?? 8080);

createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const { input } = JSON.parse(Buffer.concat(chunks).toString());
    const [status, body] = resize(input);
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(body));
  });
}).listen(port, '127.0.0.1');

function resize(input) {
  // 422, as any other 4xx or 5xx: the handler failed, and `error` is the message that the caller sees.
  if (!(input?.width > 0)) return [422, { error: 'width must be positive' }];
  return [200, { width: input.width, height: input.width / 2 }];
}
