// An endpoint for a function of mode POOL: one POST per attempt, JSON in, JSON out.
import { createServer } from 'node:http';

const port = Number(process.env.PORT ?? 8080);

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { input } = JSON.parse(Buffer.concat(chunks).toString());
  const answer = (status, body) => {
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  // 422 and any other 4xx or 5xx: the handler failed, and `error` is the message that the caller sees.
  if (!(input?.width > 0)) return answer(422, { error: 'width must be positive' });
  answer(200, { width: input.width, height: input.width / 2 });
}).listen(port, '127.0.0.1');
