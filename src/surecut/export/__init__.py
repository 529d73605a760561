"""A certificate as an engine's own setting: exactly what was certified, or a refusal that says how to get there."""

from surecut.export.elasticsearch import ELASTICSEARCH
from surecut.export.opensearch import OPENSEARCH, OPENSEARCH_RESCORE
from surecut.export.pgvector import PGVECTOR
from surecut.export.qdrant import QDRANT, QDRANT_QUERY
from surecut.export.solr import SOLR
from surecut.export.vespa import VESPA
from surecut.registry import Registry

ENGINES = Registry("engine", VESPA, ELASTICSEARCH, OPENSEARCH, OPENSEARCH_RESCORE, QDRANT, QDRANT_QUERY, SOLR, PGVECTOR)
