module.exports = async (context, req) => ({ status: 201, body: `returned ${req.query.x ?? 'nothing'}` });
