"""Answers the report of docs/analysis.md over exported files: engines.py ENGINE DIRECTORY COMPANY TIMES < text of SQL.

Prints {"rows": [[channel, currency, orders, last_non_direct_minor, time_decay_minor], ...], "seconds": the least of TIMES}.
"""
import json
import sys
import time

engine, directory, company, times = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
sql = sys.stdin.read()


def duckdb():
    import duckdb

    connection = duckdb.connect()
    return lambda: connection.execute(sql).fetchall()


def spark():
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return lambda: [tuple(row) for row in session.sql(sql).collect()]


def pyarrow():
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    def report():
        files = ds.dataset(directory + "/credits", format="parquet", partitioning="hive")
        rows = files.to_table(
            filter=(pc.field("company") == company) & (pc.field("day") >= "2026-11-01") & (pc.field("day") <= "2026-11-30")
        )
        counted = pc.if_else(pc.is_valid(rows["last_non_direct_minor"]), rows["order_id"], None)
        table = rows.append_column("counted", counted).group_by(["channel", "currency"]).aggregate(
            [("counted", "count_distinct"), ("last_non_direct_minor", "sum"), ("time_decay_minor", "sum")]
        )
        names = ["channel", "currency", "counted_count_distinct", "last_non_direct_minor_sum", "time_decay_minor_sum"]
        return sorted((tuple(row[name] for name in names) for row in table.to_pylist()), key=lambda row: row[:2])

    return report


report = {"duckdb": duckdb, "spark": spark, "pyarrow": pyarrow}[engine]()
least = None
for _ in range(times):
    began = time.perf_counter()
    rows = report()
    took = time.perf_counter() - began
    least = took if least is None else min(least, took)
print(json.dumps({"rows": [[None if x is None else x if isinstance(x, str) else int(x) for x in row] for row in rows], "seconds": least}))
