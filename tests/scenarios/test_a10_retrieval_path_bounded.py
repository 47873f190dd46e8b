"""A10, Retrieval Path Bounded: pool, scored chunks and tokens stay within the seed's bounds."""

import httpx

import make
from test_bundle import build


async def test_the_bounds_hold_however_much_matches(client: httpx.AsyncClient) -> None:
    for start in range(0, 3_000, 1_000):
        events = [
            make.body(
                session_id=f"day-{number // 100}",
                content={"text": f"Harbour report {number}: " + f"boat {number} at sea, " * 30},
            )
            for number in range(start, start + 1_000)
        ]
        answer = await client.post("/api/v1/events/batch", json={"events": events})
        assert answer.status_code == 201
    bundle = await build(client, query_text="harbour report of the boat at sea", session_id="next")

    used = {part["name"]: part for part in bundle["sections"]}
    assert 0 < bundle["provenance"]["candidate_pool_size"] <= 2_000
    assert 50 < len(used["retrieved_evidence"]["items"]) <= 200
    assert 20_000 < used["retrieved_evidence"]["token_est"] <= 28_000
    assert bundle["token_used_est"] <= 65_000
