module.exports = async function (context, req) {
  context.bindings.outputItem = req.body;
  context.res = { status: 201 };
};
