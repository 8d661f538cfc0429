"""Where stages run: this machine, Flink, Spark or Dataflow."""
