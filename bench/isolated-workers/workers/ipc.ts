process.once('disconnect', () => process.exit());
process.on('message', (message) => (message === 'exit' ? process.exit(1) : process.send?.(message)));
