"""The generated parts of the documents: what the files in results/ say, in Markdown and charts."""
